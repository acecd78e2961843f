"""Huey on Redis, with the consumer of djhuey."""

from __future__ import annotations

from tests.engines import engine


class Engine(engine.Engine):
    name = "huey"
    worker_command = ("-m", "django", "run_huey")
    ready = "django_dyncron.enqueuers.huey_worker.run_background_task"
    native_task = "tests.engines.on_huey.tasks.note"
    native_failing_task = "tests.engines.on_huey.tasks.fail"
    options = {"priority": 5, "expires": 600, "retries": 1, "retry_delay": 1, "timeout": 60}
    knows_queues = True
    # Only of background tasks: the id of others begins with it, and says more.
    takes_run_ids = False
