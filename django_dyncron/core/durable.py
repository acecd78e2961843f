"""A tick over a durable repository: claim → enqueue → record, batch after batch."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from uuid import UUID

from .backlog import Backlog
from .claims import Horizon
from .definitions import Run
from .events import TickResult
from .jumps import Jump, JumpGuard
from .ledger import Ledger
from .observers import isolated
from .parts import Parts
from .policies import RunStatus
from .ports import IDurableCronJobRepository
from .runs import Record
from .upkeep import BEAT_SECONDS, Upkeep

_GIVEN_UP = "The scheduler stopped while the task was still running."
_CONFIRMING_SECONDS = 5.0
"""A clock that jumped ahead is read again after this long."""


class DurableTick:
    """Evaluates a repository that can claim: what makes every slot run once."""

    def __init__(self, repository: IDurableCronJobRepository, parts: Parts) -> None:
        self._repository = repository
        self._parts = parts
        self._ledger = Ledger(parts.courier, parts.observers)
        self._upkeep = Upkeep(repository, parts, self._ledger)
        self._backlog = Backlog(repository, parts, self._ledger, self._upkeep)
        self._is_reviewed = False
        self._is_replica = True
        self._guard = JumpGuard(parts.clock)
        self._jump = Jump.NONE

    async def run(self, is_stopping: Callable[[], bool]) -> TickResult:
        """Do all that is due, unless ``is_stopping`` says to leave after what is in hand."""
        began = self._parts.clock.monotonic()
        self._upkeep.begin_tick(began)
        try:
            result = await self._run(is_stopping, began)
        except BaseException:
            self._upkeep.fail_tick()
            raise
        if not self._upkeep.is_well:
            await self._step("the heartbeat", self._upkeep.get_well())
        return result

    async def _run(self, is_stopping: Callable[[], bool], began: float) -> TickResult:
        counts: Counter[str] = Counter()
        horizon = await self._look()
        self._jump = self._guard.judge(horizon.now)
        if self._jump is Jump.UNCONFIRMED:
            return TickResult(at=horizon.now)
        if self._jump is Jump.BACK:
            await self._repository.replan_after(horizon.now)
            horizon = await self._look()
        if not self._is_reviewed:
            await self._repository.review(self._parts.rules.time_zone, horizon.now)
            self._is_reviewed = True
            horizon = await self._look()
        if self._upkeep.is_due():
            await self._upkeep.run(horizon.now, counts)
        while horizon.has_work and not is_stopping():
            # More than once, because a row that was only planned may turn out to be due.
            has_moved = await self._backlog.work_off(horizon.needs_planning, counts, is_stopping)
            horizon = await self._look()
            if not has_moved:
                break
        await self._ledger.write(self._repository)
        self._upkeep.expect_run_at(self._ledger.take_retries_at(), is_retry=True)
        return TickResult(
            at=horizon.now,
            next_due_at=horizon.next_due_at,
            took=timedelta(seconds=self._parts.clock.monotonic() - began),
            **counts,
        )

    async def deliver(self, run_id: UUID) -> None:
        """Deliver a run that is kept for this replica, which does nothing else and is none."""
        self._is_replica = False
        horizon = await self._look()
        await self._upkeep.deliver_only(run_id, horizon.now)
        await self._ledger.write(self._repository)

    def seconds_to_next(self, result: TickResult) -> float:
        """Return how soon work or upkeep calls for a tick after ``result``."""
        if self._jump is Jump.UNCONFIRMED:
            return _CONFIRMING_SECONDS
        due_in = float("inf")
        if result.next_due_at is not None:
            due_in = (result.next_due_at - self._parts.time.now()).total_seconds()
            if result.next_due_at <= result.at:
                due_in = self._backlog.seconds_to_free()
        return max(min(due_in, self._upkeep.seconds_to_next()), 0.0)

    def seconds_to_beat(self) -> float:
        """Return how long until :meth:`keep_alive` has something to do."""
        return self._upkeep.seconds_to_beat()

    async def close(self, grace: timedelta) -> int:
        """Hand back what waits in the local pools, wait for the rest; return how many were lost.

        Each step is taken whatever became of the one before: the store may be away.
        """
        now = self._parts.time.now()
        waiting = self._parts.courier.withdraw()
        given_back = [
            Record(run, RunStatus.CLAIMED, lease_until=now, is_given_back=True) for run in waiting
        ]
        await self._step("writing the last records", self._ledger.write(self._repository))
        await self._step("handing runs back", self._repository.record(given_back))
        given_up = await self._drain(grace)
        now = self._parts.time.now()
        lost = [Record(run, RunStatus.LOST, error=_GIVEN_UP, finished_at=now) for run in given_up]
        await self._step("recording lost runs", self._repository.record(lost))
        for record in lost:
            # Told whether or not it could be written: nobody else knows of it by now.
            self._ledger.tell(record)
        if self._is_replica:
            await self._step("the last heartbeat", self._upkeep.last_beat())
        return len(given_up)

    async def keep_alive(self) -> None:
        """Give a sign of life and renew the leases of runs in hand, if it is time."""
        await self._step("the heartbeat", self._upkeep.beat_if_due(self._parts.time.now()))

    async def _drain(self, grace: timedelta) -> Sequence[Run]:
        """Wait for the local pools while their leases are kept; return the runs given up."""
        draining = asyncio.ensure_future(self._parts.courier.drain(grace))
        while not draining.done():
            await asyncio.wait({draining}, timeout=BEAT_SECONDS)
            await self.keep_alive()
        return draining.result()

    async def _step(self, step: str, action: Awaitable[None]) -> None:
        await isolated(step, action, self._parts.observers)

    async def _look(self) -> Horizon:
        judges_by = self._parts.judges_by
        horizon = await self._repository.look_ahead(judges_by() if judges_by else None)
        self._parts.time.set(horizon.now)
        return horizon
