"""Django settings of the tests, and of the processes that tests start.

``DYNCRON_TEST_DATABASE`` chooses ``sqlite`` (the default) or ``postgres`` for a whole pytest run;
which server that is, ``tests/conftest.py`` fills in. ``DYNCRON_TEST_DATABASE_URL`` names one exact
database: tests set it for the processes they start, so that those work on the database of the test.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from tests.databases import settings_from_url

BASE_DIR = Path(__file__).resolve().parent


def _default_database() -> dict[str, Any]:
    if url := os.environ.get("DYNCRON_TEST_DATABASE_URL"):
        return settings_from_url(url)
    chosen = os.environ.get("DYNCRON_TEST_DATABASE", "sqlite")
    if chosen == "postgres":
        server = os.environ.get("DYNCRON_TEST_POSTGRES_URL", "postgresql://127.0.0.1/postgres")
        return settings_from_url(server)
    if chosen == "sqlite":
        # A file, because threads and processes share it; one per run, so that runs may overlap.
        file = Path(tempfile.gettempdir()) / f"dyncron-tests-{os.getpid()}.sqlite3"
        return settings_from_url("sqlite:///:memory:") | {"TEST": {"NAME": str(file)}}
    raise ValueError(f"DYNCRON_TEST_DATABASE must be sqlite or postgres, not {chosen!r}")


SECRET_KEY = "only for tests"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
ROOT_URLCONF = "tests.urls"
STATIC_URL = "static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

DATABASES = {"default": _default_database()}

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_dyncron",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
