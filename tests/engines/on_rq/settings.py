from __future__ import annotations

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import INSTALLED_APPS, QUEUE_URL

INSTALLED_APPS = [*INSTALLED_APPS, "django_rq", "tests.engines.on_rq"]
RQ_QUEUES = {"default": {"URL": QUEUE_URL}, "slow": {"URL": QUEUE_URL, "DEFAULT_TIMEOUT": 600}}
DYNCRON = {"ENQUEUER": "rq", "LOCK_PROVIDER": "none"}
