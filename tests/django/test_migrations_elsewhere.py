"""A project with other settings finds nothing to migrate in the package."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

PROJECT = """
import json, sys
import django
from django.conf import settings
from django.core.management import call_command

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django_dyncron"],
    **json.loads(sys.argv[1]),
)
django.setup()
call_command("makemigrations", check=True, dry_run=True)
"""


@pytest.mark.parametrize(
    "settings",
    [
        {"DEFAULT_AUTO_FIELD": "django.db.models.AutoField", "LANGUAGE_CODE": "de"},
        {"DEFAULT_AUTO_FIELD": "django.db.models.SmallAutoField", "LANGUAGE_CODE": "fr"},
        {"USE_I18N": False, "LANGUAGE_CODE": "de", "TIME_ZONE": "Asia/Tokyo"},
        {"USE_TZ": False, "DYNCRON": {"TIME_ZONE": "Europe/Berlin", "ENQUEUER": "celery"}},
    ],
    ids=", ".join,
)
def test_nothing_to_migrate(settings: dict[str, Any]) -> None:
    command = [sys.executable, "-c", PROJECT, json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("No changes detected\n", 0), done.stderr
