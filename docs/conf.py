"""Sphinx configuration."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

project = "django-dyncron"
author = "django-dyncron contributors"
copyright = author
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
default_role = "py:obj"

html_theme = "furo"
html_title = f"django-dyncron {release}"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"

# Other projects' objects are not looked up, so that the build needs no network.
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(asyncio|collections|concurrent|contextlib|datetime|logging|typing|uuid|zoneinfo)\..*",
    ),
    ("py:.*", r"(asgiref|celery|django|django_redis|django_tasks|psycopg|redis)\..*"),
]
