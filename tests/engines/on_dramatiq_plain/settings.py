"""Dramatiq on Redis, with a broker of the project's own making."""

from __future__ import annotations

from tests.engines.settings import *  # noqa: F403
from tests.engines.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.engines.on_dramatiq_plain"]

DYNCRON = {
    "ENQUEUER": {
        "BACKEND": "dramatiq",
        "OPTIONS": {"broker": "tests.engines.on_dramatiq_plain.brokers.reports"},
    }
}
