"""A project of its own, in a directory of its own, whose commands are run as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent.parent
SQLITE = '{"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}'


def in_a_plain_project(
    path: Path, *arguments: str, databases: str = SQLITE
) -> subprocess.CompletedProcess[str]:
    """Run a command of Django's under ``path``, its warnings being errors."""
    (path / "plain_settings.py").write_text(
        f'SECRET_KEY = "plain"\nINSTALLED_APPS = ["django_dyncron"]\nDATABASES = {databases}\n'
    )
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "plain_settings",
        "PYTHONPATH": os.pathsep.join([str(path), str(_ROOT)]),
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "django", *arguments],
        check=False,
        env=environment,
        cwd=path,
        capture_output=True,
        text=True,
        timeout=60,
    )
