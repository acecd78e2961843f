"""Dramatiq's worker, started by django-dramatiq."""

from __future__ import annotations

import os

from tests.engines.engine import Engine as AnyEngine


class Engine(AnyEngine):
    name = "dramatiq"
    worker_command = ("-m", "django", "rundramatiq", "--processes", "1", "--threads", "2")
    ready = "Worker process is ready for action."
    native_task = "tests.engines.on_dramatiq.tasks.note"
    native_failing_task = "fail-at-once"
    options = {"max_retries": 2, "max_age": 3_600_000, "time_limit": 60_000}
    knows_queues = True

    def environment(self, redis_url: str | None) -> dict[str, str]:
        # A worker with nothing to do looks again after so many milliseconds.
        pace = {"dramatiq_worker_timeout": "20"}
        return {
            **super().environment(redis_url),
            **pace,
            "DYNCRON_TEST_OWNER": str(os.getpid()),
        }
