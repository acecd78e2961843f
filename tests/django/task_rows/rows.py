"""Runs to enqueue as rows of django-tasks-db, the rows, and the worker that empties them."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core.management import call_command

from django_dyncron.core.definitions import Run
from django_dyncron.enqueuers.django_tasks import DjangoTasksEnqueuer

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
DAY = {"day": "2026-11-01"}
REPORT = "tests.shop.tasks.build_report"
PACK = "tests.depot.tasks.pack"
NATIVE = "tests.engines.on_django_tasks_db.tasks"
GENERIC = "django_dyncron.enqueuers.django_tasks_worker.run_background_task"
DATABASE = "django_tasks_db.DatabaseBackend"


def backend(path: str, *queues: str, **options: Any) -> dict[str, Any]:
    return {"BACKEND": path, "QUEUES": list(queues), "OPTIONS": options}


def work() -> None:
    """Let a worker of django-tasks-db empty the queues, here; it leaves its signal handlers."""
    handled = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
    handlers = {each: signal.getsignal(each) for each in handled}
    try:
        call_command("db_worker", batch=True, queue_name="*", interval=0, verbosity=0, reload=False)
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)


def rows() -> list[Any]:
    from django_tasks_db.models import DBTaskResult

    return list(DBTaskResult.objects.order_by("enqueued_at"))


def results() -> list[tuple[str, str, str]]:
    return [(row.task_path, row.queue_name, row.status) for row in rows()]


def a_run(task_name: str = REPORT, queue: str = "default", **others: Any) -> Run:
    payload = others.pop("payload", DAY)
    run_id = UUID(int=others.pop("number", 7))
    return Run(run_id, "morning", task_name, payload, queue, SLOT, **others)


def enqueue(*runs: Run) -> list[str]:
    return DjangoTasksEnqueuer().enqueue_runs_now(runs)
