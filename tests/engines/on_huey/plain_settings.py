"""Settings of a project that has instances of Huey and no djhuey."""

from __future__ import annotations

from tests.engines.settings import *  # noqa: F403

DYNCRON = {
    "ENQUEUER": {
        "BACKEND": "huey",
        "OPTIONS": {
            "queues": {
                "default": "tests.engines.on_huey.plain.letters",
                "parcels": "tests.engines.on_huey.plain.parcels",
            }
        },
    },
    "LOCK_PROVIDER": "none",
}
