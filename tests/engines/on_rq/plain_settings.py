"""RQ without django-rq, its jobs written as JSON."""

from __future__ import annotations

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import QUEUE_URL

DYNCRON = {
    "ENQUEUER": {
        "BACKEND": "rq",
        "OPTIONS": {"url": QUEUE_URL, "serializer": "rq.serializers.JSONSerializer"},
    },
    "LOCK_PROVIDER": "none",
}
