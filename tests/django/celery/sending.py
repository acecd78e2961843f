"""Handing runs to the Celery enqueuer, and looking at what its broker got."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from celery import Celery

from django_dyncron.core.definitions import Run
from django_dyncron.core.runs import Attempt
from django_dyncron.enqueuers.celery import CeleryTaskEnqueuer

REPORT = "tests.shop.tasks.build_report"
DAY = {"day": "2026-11-01"}
_SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)

Make = Callable[..., CeleryTaskEnqueuer]
"""Makes an enqueuer of the app of the test, with these settings of Celery."""


def a_run(task_name: str = "pack", payload: Any = None, **values: Any) -> Run:
    values = {"queue": "default", "run_id": uuid4(), "scheduled_for": _SLOT, **values}
    return Run(
        job_id="nightly",
        task_name=task_name,
        payload={"box": "red"} if payload is None else payload,
        **values,
    )


def enqueue(enqueuer: CeleryTaskEnqueuer, *runs: Run) -> list[Attempt]:
    async def send() -> list[Attempt]:
        try:
            return await enqueuer.enqueue_runs(runs, lambda: True)
        finally:
            await enqueuer.aclose()

    return asyncio.run(send())


def received(app: Celery, queue: str = "celery") -> list[Any]:
    """Return, and take away, what is in a queue."""
    with app.connection_for_read() as connection:
        channel = connection.default_channel
        return list(iter(lambda: channel.basic_get(queue, no_ack=True), None))
