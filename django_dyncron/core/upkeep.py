"""Upkeep between claims: signs of life, leases, and runs that somebody left behind."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from .courier import LEASE
from .events import RunLost
from .ledger import Ledger
from .parts import Parts
from .policies import RunStatus
from .ports import Heartbeat, IDurableCronJobRepository

_SWEEP_SECONDS = 10.0
_BEAT_SECONDS = 15.0


class Upkeep:
    """Does what is due of it whenever a tick passes by."""

    def __init__(self, repository: IDurableCronJobRepository, parts: Parts, ledger: Ledger) -> None:
        self._repository = repository
        self._parts = parts
        self._ledger = ledger
        self._beats_at = float("-inf")
        self._sweeps_at = float("-inf")
        self._has_waiting_runs = False

    async def run(self, now: datetime, counts: Counter[str]) -> None:
        """Beat and sweep if it is time; ``now`` is the store's."""
        instant = self._parts.clock.monotonic()
        if instant >= self._beats_at:
            await self._beat(now)
        if instant >= self._sweeps_at:
            await self._sweep(now, counts)

    def seconds_to_next(self) -> float:
        """Return how soon a tick is needed for upkeep's sake; infinity if any tick will do."""
        instant = self._parts.clock.monotonic()
        waits = [float("inf")]
        if self._parts.courier.in_hand() or self._ledger.runs():
            waits.append(self._beats_at - instant)
        if self._has_waiting_runs:
            waits.append(self._sweeps_at - instant)
        return min(waits)

    def expect_run_at(self, moment: datetime | None) -> None:
        """Sweep no later than ``moment`` (the store's time): a run waits for then."""
        if moment is None:
            return
        wait = (moment - self._parts.time.now()).total_seconds()
        sweeps_at = self._parts.clock.monotonic() + max(wait, 0.0)
        self._sweeps_at = min(self._sweeps_at, sweeps_at)
        self._has_waiting_runs = self._has_waiting_runs or wait > 0

    async def last_beat(self) -> None:
        await self._beat(self._parts.time.now(), is_last=True)

    async def _beat(self, now: datetime, *, is_last: bool = False) -> None:
        held = [*self._parts.courier.in_hand(), *self._ledger.runs()]
        await self._repository.beat(
            Heartbeat(
                replica_id=self._parts.replica_id,
                at=now,
                tick_interval=self._parts.rules.tick_interval,
                keep=frozenset(run.run_id for run in held),
                lease=LEASE,
                is_last=is_last,
            )
        )
        self._beats_at = self._parts.clock.monotonic() + _BEAT_SECONDS

    async def _sweep(self, now: datetime, counts: Counter[str]) -> None:
        parts = self._parts
        sweep = await self._repository.sweep(now, parts.replica_id, LEASE, parts.batch_size)
        self._sweeps_at = parts.clock.monotonic() + _SWEEP_SECONDS
        self._has_waiting_runs = False
        self.expect_run_at(sweep.next_at)
        for record in sweep.closed:
            if record.status == RunStatus.LOST:
                parts.observers.tell(RunLost(str(record.run.run_id), record.run.job_id))
            else:
                self._ledger.tell(record)
        if sweep.runs:
            counts["retried"] += len(sweep.runs)
            attempts = await parts.courier.deliver(sweep.runs, parts.clock.monotonic())
            self._ledger.enter(attempts, parts.time.now(), counts)
