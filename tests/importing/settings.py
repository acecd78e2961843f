"""Django settings of a project that uses django-celery-beat and django-q2."""

from __future__ import annotations

SECRET_KEY = "only for tests"
USE_TZ = True
TIME_ZONE = "Europe/Berlin"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
INSTALLED_APPS = ["django.contrib.contenttypes", "django_celery_beat", "django_q"]
Q_CLUSTER = {"name": "shop", "orm": "default", "timeout": 60, "retry": 120}
