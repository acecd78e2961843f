"""Settings of the scheduler and of Procrastinate's worker."""

from __future__ import annotations

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import INSTALLED_APPS, LOGGING

INSTALLED_APPS = [*INSTALLED_APPS, "procrastinate.contrib.django", "tests.engines.on_procrastinate"]
ROOT_URLCONF = None
PROCRASTINATE_ON_APP_READY = "django_dyncron.enqueuers.procrastinate_worker.set_up"

DYNCRON = {"ENQUEUER": "procrastinate", "LOCK_PROVIDER": "none"}

LOGGING["loggers"]["procrastinate"] = {"handlers": ["stderr"], "level": "INFO"}
