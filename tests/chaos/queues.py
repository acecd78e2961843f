"""Task queues that note what reaches them: one of each kind that the guarantee tells apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django_dyncron.core.definitions import Run
from django_dyncron.core.ports import ITaskEnqueuer
from tests.chaos.faults import Weather


@dataclass(frozen=True)
class Delivery:
    """A message that reached a queue ``late`` seconds after its slot."""

    job_id: str
    slot: datetime
    run_id: UUID
    claimed_at: datetime | None
    late: float


@dataclass
class Mailbox:
    """All that reached any queue of a simulation."""

    deliveries: list[Delivery] = field(default_factory=list)
    known_ids: set[UUID] = field(default_factory=set)
    work: Callable[[Run], None] | None = None
    """What the workers of the queues do with a message, if there are any."""
    at_work: set[asyncio.Task[None]] = field(default_factory=set)

    def put(self, run: Run, now: datetime) -> None:
        assert run.scheduled_for is not None
        late = (now - run.scheduled_for).total_seconds()
        self.deliveries.append(
            Delivery(run.job_id, run.scheduled_for, run.run_id, run.created_at, late)
        )
        if self.work is not None:
            self.work(run)


class ForgetfulQueue(ITaskEnqueuer):
    """A queue elsewhere that takes whatever it is given, again and again."""

    def __init__(self, mailbox: Mailbox, weather: Weather, clock: Any) -> None:
        self._mailbox = mailbox
        self._weather = weather
        self._clock = clock

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> Any:
        raise AssertionError("every run has an identity, and it must be passed on")

    async def enqueue_run(self, run: Run) -> str:
        await self._weather.point("send")
        self._receive(run)
        await self._weather.point("sent")
        return str(run.run_id)

    def _receive(self, run: Run) -> None:
        self._mailbox.put(run, self._clock())


class RememberingQueue(ForgetfulQueue):
    """A queue elsewhere that refuses a run id it has seen."""

    refuses_repeated_ids = True

    def _receive(self, run: Run) -> None:
        if run.run_id not in self._mailbox.known_ids:
            self._mailbox.known_ids.add(run.run_id)
            super()._receive(run)


class InsideQueue(ForgetfulQueue):
    """A queue in the database of the cron jobs, which joins the claim's transaction."""

    def transaction_alias(self) -> str:
        return "memory"

    def enqueue_runs_now(self, runs: Sequence[Run]) -> list[str]:
        for run in runs:
            self._receive(run)
        return [str(run.run_id) for run in runs]


def further_queues(mailbox: Mailbox, weather: Weather, clock: Any) -> dict[str, ITaskEnqueuer]:
    """Return the queues that jobs ask for by name; the default is a :class:`ForgetfulQueue`."""
    return {
        "remembering": RememberingQueue(mailbox, weather, clock),
        "inside": InsideQueue(mailbox, weather, clock),
    }
