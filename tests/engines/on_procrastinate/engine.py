"""Procrastinate on PostgreSQL: jobs are rows beside the cron jobs."""

from __future__ import annotations

from tests.engines import engine


class Engine(engine.Engine):
    name = "procrastinate"
    worker_command = ("-m", "django", "procrastinate", "worker")
    ready = "Starting worker"
    native_task = "tests.engines.on_procrastinate.tasks.note"
    native_failing_task = "tests.engines.on_procrastinate.tasks.fail"
    options = {"priority": 5, "lock": "one at a time"}
    needs_redis = False
    has_tables = True
    takes_run_ids = False
