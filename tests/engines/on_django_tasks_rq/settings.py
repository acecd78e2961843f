"""Settings of the scheduler and of a worker of django-rq."""

from __future__ import annotations

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import INSTALLED_APPS, QUEUE_URL

INSTALLED_APPS = [*INSTALLED_APPS, "django_rq", "tests.engines.on_django_tasks_rq"]
ROOT_URLCONF = None

RQ_QUEUES = {"default": {"URL": f"{QUEUE_URL}?socket_timeout=5&socket_connect_timeout=5"}}
TASKS = {"default": {"BACKEND": "django_tasks_rq.RQBackend"}}
DYNCRON = {"ENQUEUER": "django_tasks", "LOCK_PROVIDER": "none"}
