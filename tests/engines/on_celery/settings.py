from __future__ import annotations

from kombu import Queue

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import INSTALLED_APPS as _INSTALLED_APPS
from tests.engines.settings import QUEUE_URL

INSTALLED_APPS = [*_INSTALLED_APPS, "tests.engines.on_celery"]

DYNCRON = {"ENQUEUER": "celery", "LOCK_PROVIDER": "none"}

CELERY_BROKER_URL = QUEUE_URL
CELERY_RESULT_BACKEND = QUEUE_URL
CELERY_TASK_QUEUES = [Queue("celery"), Queue("threads"), Queue("solo")]
CELERY_TASK_CREATE_MISSING_QUEUES = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
