"""Dramatiq on Redis, by way of django-dramatiq."""

from __future__ import annotations

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import INSTALLED_APPS, QUEUE_URL

INSTALLED_APPS = ["django_dramatiq", *INSTALLED_APPS, "tests.engines.on_dramatiq"]

DRAMATIQ_BROKER = {
    "BROKER": "dramatiq.brokers.redis.RedisBroker",
    "OPTIONS": {"url": QUEUE_URL},
    "MIDDLEWARE": [
        "tests.engines.on_dramatiq.ending.EndWithTheTest",
        "dramatiq.middleware.AgeLimit",
        "dramatiq.middleware.TimeLimit",
        "dramatiq.middleware.Callbacks",
        "dramatiq.middleware.Retries",
        "django_dramatiq.middleware.DbConnectionsMiddleware",
    ],
}

DYNCRON = {"ENQUEUER": "dramatiq"}
