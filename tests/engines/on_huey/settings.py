"""Settings of the scheduler and of ``run_huey``."""

from __future__ import annotations

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import INSTALLED_APPS, QUEUE_URL

INSTALLED_APPS = [*INSTALLED_APPS, "huey.contrib.djhuey", "tests.engines.on_huey"]

HUEY = {
    "huey_class": "huey.PriorityRedisHuey",
    "name": "engines",
    "immediate": False,
    "connection": {"url": QUEUE_URL},
    "consumer": {"workers": 2},
}

DYNCRON = {"ENQUEUER": "huey", "LOCK_PROVIDER": "none"}
