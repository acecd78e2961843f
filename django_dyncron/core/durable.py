"""A tick over a durable repository: claim → enqueue → record, batch after batch."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from .claims import ClaimedBatch, ClaimOrder, Gate, Horizon, StoredJob
from .courier import LEASE
from .definitions import Run, Slot
from .events import JobBroken, SlotsSkipped, TickResult
from .exceptions import StoreUnavailable
from .jumps import Jump, JumpGuard
from .ledger import Ledger
from .observers import isolated
from .parts import Parts
from .planning import JobPlan, plan_job
from .policies import RunStatus
from .ports import IDurableCronJobRepository
from .runs import Record
from .upkeep import BEAT_SECONDS, Upkeep

_REFUSED_SECONDS = 1.0
"""A job whose lock somebody held is tried again after this long."""
_GIVEN_UP = "The scheduler stopped while the task was still running."
_CONFIRMING_SECONDS = 5.0
"""A clock that jumped ahead is read again after this long."""
_CONTENDED_SECONDS = 0.1
"""Rows another replica is just claiming are looked at again after this long."""


class DurableTick:
    """Evaluates a repository that can claim: what makes every slot run once."""

    def __init__(self, repository: IDurableCronJobRepository, parts: Parts) -> None:
        self._repository = repository
        self._parts = parts
        self._ledger = Ledger(parts.courier, parts.observers)
        self._upkeep = Upkeep(repository, parts, self._ledger)
        self._refused_until: dict[int, float] = {}
        self._is_reviewed = False
        self._guard = JumpGuard(parts.clock)
        self._jump = Jump.NONE

    async def run(self, is_stopping: Callable[[], bool]) -> TickResult:
        """Do all that is due, unless ``is_stopping`` says to leave after the batch in hand."""
        began = self._parts.clock.monotonic()
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
        await self._upkeep.run(horizon.now, counts)
        while horizon.has_work and not is_stopping():
            # More than once, because a row that was only planned may turn out to be due.
            has_moved = await self._work_off(horizon, counts, is_stopping)
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

    def seconds_to_next(self, result: TickResult) -> float:
        """Return how soon work or upkeep calls for a tick after ``result``."""
        if self._jump is Jump.UNCONFIRMED:
            return _CONFIRMING_SECONDS
        due_in = float("inf")
        if result.next_due_at is not None:
            due_in = (result.next_due_at - self._parts.time.now()).total_seconds()
            if result.next_due_at <= result.at:
                due_in = self._seconds_to_free()
        return max(min(due_in, self._upkeep.seconds_to_next()), 0.0)

    def _seconds_to_free(self) -> float:
        """Return how long to leave alone what is due but was in somebody else's hands."""
        if not self._refused_until:
            return _CONTENDED_SECONDS
        return min(self._refused_until.values()) - self._parts.clock.monotonic()

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
        await self._step("the last heartbeat", self._upkeep.last_beat())
        return len(given_up)

    async def keep_alive(self) -> None:
        """Renew the leases of runs that are still in hand, if it is time."""
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

    async def _work_off(
        self, horizon: Horizon, counts: Counter[str], is_stopping: Callable[[], bool]
    ) -> bool:
        """Claim and deliver batch after batch; return whether any cursor was moved."""
        has_moved, is_full = False, True
        while is_full and not is_stopping():
            claimed_at = self._parts.clock.monotonic()
            try:
                batch = await self._claim(horizon.needs_planning)
                self._ledger.note(batch.records, counts)
                self._upkeep.expect_run_at(batch.next_delivery_at)
                attempts = await self._parts.courier.deliver(batch.runs, claimed_at)
                self._ledger.enter(attempts, self._parts.time.now(), counts)
            finally:
                if self._parts.gate is not None:
                    await self._parts.gate.release()
            self._note(batch, counts)
            has_moved, is_full = has_moved or bool(batch.plans), batch.is_full
            await self._upkeep.run(self._parts.time.now(), counts)
        return has_moved

    async def _claim(self, plans_new: bool) -> ClaimedBatch:
        parts = self._parts
        now, instant = parts.time.now(), parts.clock.monotonic()
        self._refused_until = {
            key: until for key, until in self._refused_until.items() if until > instant
        }
        records = self._ledger.open_records()
        order = ClaimOrder(
            at=now,
            limit=parts.batch_size,
            replica_id=parts.replica_id,
            key_prefix=parts.key_prefix,
            lease=LEASE,
            plan=lambda stored: self._plan(stored, now),
            gate=self._gate_at(now),
            deliver_inside=parts.courier.deliver_inside,
            plans_new=plans_new,
            excluded=tuple(self._refused_until),
            records=records,
        )
        try:
            batch = await self._repository.claim_due(order)
        except StoreUnavailable:
            raise
        except Exception:
            if not records:
                raise
            # It may have been one of the records: write them apart, then claim without.
            await self._ledger.write(self._repository)
            batch = await self._repository.claim_due(replace(order, records=()))
        else:
            self._ledger.close(len(records))
        self._refused_until |= dict.fromkeys(batch.refused, instant + _REFUSED_SECONDS)
        return batch

    def _plan(self, stored: StoredJob, now: datetime) -> JobPlan:
        rules = self._parts.rules
        return plan_job(stored.definition, stored.cursor, now, rules, stored.plan_from)

    def _gate_at(self, now: datetime) -> Gate | None:
        gate = self._parts.gate
        if gate is None:
            return None

        async def admit(slots: Sequence[Slot]) -> set[Slot]:
            return await gate.admit_recent(slots, now)

        return admit

    def _note(self, batch: ClaimedBatch, counts: Counter[str]) -> None:
        counts["planned"] += len(batch.plans)
        counts["claimed"] += batch.claimed
        counts["refused"] += len(batch.refused)
        for stored, plan in batch.plans:
            job_id = stored.definition.job_id
            if plan.error:
                counts["broken"] += 1
                self._parts.observers.tell(JobBroken(job_id, plan.error))
            for skip in plan.skips:
                counts["skipped"] += skip.count
                self._parts.observers.tell(
                    SlotsSkipped(job_id, skip.reason, skip.first, skip.last, skip.count)
                )
