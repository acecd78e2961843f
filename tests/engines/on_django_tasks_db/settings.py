"""Settings of the scheduler and of the worker of django-tasks-db."""

from __future__ import annotations

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django_tasks_db", "tests.engines.on_django_tasks_db"]
ROOT_URLCONF = None

TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
DYNCRON = {"ENQUEUER": "django_tasks", "LOCK_PROVIDER": "none"}
