"""What the tests of the local enqueuer share: runs, a journal, and ways to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers.local import LocalTaskEnqueuer

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
DAY = {"day": "2026-11-01"}


def a_run(task: str, number: int = 1, **payload: Any) -> Run:
    name = f"tests.shop.tasks.{task}"
    return Run(UUID(int=number), f"job-{number}", name, payload, "default", SLOT)


class Journal:
    """Writes down what it is told; ``lost`` ids are somebody else's."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.lost: set[str] = set()
        self.failures = 0

    async def start(self, run: Run) -> bool:
        self._fail_if_told_to()
        self.events.append(("start", run.job_id, ""))
        return run.job_id not in self.lost

    async def finish(self, run: Run, error: str = "") -> None:
        self._fail_if_told_to()
        self.events.append(("finish", run.job_id, error))

    def _fail_if_told_to(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the database is away")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - threads set no asyncio.Event
            await asyncio.sleep(0.005)


async def send(enqueuer: LocalTaskEnqueuer, *runs: Run) -> list[Outcome]:
    return [attempt.outcome for attempt in await enqueuer.enqueue_runs(runs, lambda: True)]


async def idle(enqueuer: LocalTaskEnqueuer) -> None:
    await until(lambda: not enqueuer.in_hand())
