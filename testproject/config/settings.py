"""Settings of the sample project, from the environment.

``DEBUG`` (1, or 0 for anything that others can reach), ``DATABASE_URL`` (a SQLite file in
``VAR_DIR``), ``REDIS_URL`` (locks there instead of in the database), ``TIME_ZONE``, ``VAR_DIR``,
``STATIC_ROOT`` (where ``collectstatic`` puts files for WhiteNoise to serve), and without ``DEBUG``
also ``SECRET_KEY``, ``ALLOWED_HOSTS`` and, behind a proxy that speaks TLS, ``CSRF_TRUSTED_ORIGINS``
(such as ``https://shop.example.com``), both comma-separated.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from .databases import database_from_url

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(os.environ.get("VAR_DIR", BASE_DIR / "var"))
VAR_DIR.mkdir(parents=True, exist_ok=True)

DEBUG = os.environ.get("DEBUG", "1").lower() not in ("", "0", "false", "no", "off")
SECRET_KEY = os.environ["SECRET_KEY"] if not DEBUG else "not secret: for trying things out"
ALLOWED_HOSTS = [host for host in os.environ.get("ALLOWED_HOSTS", "").split(",") if host]
CSRF_TRUSTED_ORIGINS = [
    origin for origin in os.environ.get("CSRF_TRUSTED_ORIGINS", "").split(",") if origin
]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_dyncron",
    "samples",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
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

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
STATIC_URL = "static/"
if "STATIC_ROOT" in os.environ:
    STATIC_ROOT = Path(os.environ["STATIC_ROOT"])
    MIDDLEWARE.insert(1, "whitenoise.middleware.WhiteNoiseMiddleware")

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = os.environ.get("TIME_ZONE", "UTC")

_sqlite_url = f"sqlite:///{quote(str(VAR_DIR / 'db.sqlite3'))}"
DATABASES = {"default": database_from_url(os.environ.get("DATABASE_URL", _sqlite_url))}

DYNCRON: dict[str, object] = {}
if "REDIS_URL" in os.environ:
    DYNCRON["LOCK_PROVIDER"] = os.environ["REDIS_URL"]

if not DEBUG:
    LOGGING = {
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"stderr": {"class": "logging.StreamHandler"}},
        "loggers": {"django_dyncron": {"handlers": ["stderr"], "level": "INFO"}},
    }
