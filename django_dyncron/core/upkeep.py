"""Upkeep between claims: signs of life, leases, and runs that somebody left behind."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from .claims import Heartbeat, SweepOrder
from .courier import LEASE
from .definitions import Run
from .events import SignOfLife
from .exceptions import StoreUnavailable
from .ledger import Ledger
from .observers import isolated
from .parts import Parts
from .ports import IDurableCronJobRepository
from .runs import Attempt

_SWEEP_SECONDS = 10.0
BEAT_SECONDS = 15.0
"""How often a replica gives a sign of life, ticking or not."""
_PRUNE_SECONDS = 600.0
_PRUNE_ON_SECONDS = 5.0
"""The pause after a batch that was full: others must get at the table in between."""
_PRUNED_AT_ONCE = 1000


class Upkeep:
    """Does what is due of it whenever a tick passes by."""

    def __init__(self, repository: IDurableCronJobRepository, parts: Parts, ledger: Ledger) -> None:
        self._repository = repository
        self._parts = parts
        self._ledger = ledger
        self._beats_at = float("-inf")
        self._sweeps_at = float("-inf")
        self._prunes_at = float("inf") if parts.retention is None else float("-inf")
        self._has_waiting_runs = False
        self.is_well = False
        """Whether the latest tick that is over, or is long under way, went well."""
        self._since: datetime | None = None
        self._tick_began = 0.0

    def begin_tick(self, instant: float) -> None:
        """Note that a tick began at the monotonic ``instant``."""
        self._tick_began = instant

    def note_progress(self) -> None:
        """Note that a tick got through a batch.

        A replica whose ticks fail does not look alive, but one that works off a long backlog does,
        although it has not brought a tick to its end yet.
        """
        self._parts.pulse.steps += 1
        if not self.is_well and self._parts.clock.monotonic() - self._tick_began >= BEAT_SECONDS:
            self._be_well()

    async def get_well(self) -> None:
        """Say at once that a tick went well, after none did."""
        self._be_well()
        await self.beat_if_due(self._parts.time.now())

    def fail_tick(self) -> None:
        """Note that a tick failed: no sign of life is given before one goes well."""
        self.is_well = False

    def _be_well(self) -> None:
        self.is_well = True
        self._beats_at = float("-inf")

    async def run(self, now: datetime, counts: Counter[str]) -> None:
        """Beat, sweep and prune if it is time; ``now`` is the store's.

        What fails of it is told and tried again later: no run has to wait for it.
        """
        instant = self._parts.clock.monotonic()
        await self._step("the heartbeat", self.beat_if_due(now))
        if instant >= self._sweeps_at:
            self._sweeps_at = instant + _SWEEP_SECONDS
            await self._step("the sweep", self._sweep(now, counts))
        if self._parts.retention is not None and instant >= self._prunes_at:
            self._prunes_at = instant + _PRUNE_SECONDS
            await self._step("pruning", self._prune(now, self._parts.retention))

    def is_due(self) -> bool:
        """Tell whether :meth:`run` would find anything to do now."""
        instant = self._parts.clock.monotonic()
        return instant >= min(self._beats_at, self._sweeps_at, self._prunes_at)

    async def _step(self, name: str, action: Awaitable[None]) -> None:
        lets_through = (StoreUnavailable,)
        await isolated(name, action, self._parts.observers, lets_through=lets_through)

    def seconds_to_next(self) -> float:
        """Return how soon a tick is needed for upkeep's sake; infinity if any tick will do."""
        instant = self._parts.clock.monotonic()
        waits = [float("inf")]
        if self._parts.courier.in_hand() or self._ledger.runs():
            waits.append(self._beats_at - instant)
        if self._has_waiting_runs:
            waits.append(self._sweeps_at - instant)
        return min(waits)

    def seconds_to_beat(self) -> float:
        """Return how long until the next sign of life is due; 0 or less if it is."""
        return self._beats_at - self._parts.clock.monotonic()

    def expect_run_at(self, moment: datetime | None, *, is_retry: bool = False) -> None:
        """Sweep no later than ``moment`` (the store's time): a run waits for then.

        A retry that is due at once is left to the next tick.
        """
        if moment is None:
            return
        wait = (moment - self._parts.time.now()).total_seconds()
        sweeps_at = self._parts.clock.monotonic() + max(wait, 0.0)
        self._sweeps_at = min(self._sweeps_at, sweeps_at)
        self._has_waiting_runs = self._has_waiting_runs or wait > 0 or not is_retry

    async def _prune(self, now: datetime, retention: timedelta) -> None:
        pruned = await self._repository.prune(now - retention, _PRUNED_AT_ONCE)
        if pruned >= _PRUNED_AT_ONCE:
            self._prunes_at = self._parts.clock.monotonic() + _PRUNE_ON_SECONDS

    async def beat_if_due(self, now: datetime) -> None:
        """Give a sign of life and renew leases, if the last time was long enough ago."""
        instant = self._parts.clock.monotonic()
        if instant >= self._beats_at:
            self._beats_at = instant + BEAT_SECONDS
            await self._beat(now)

    async def last_beat(self) -> None:
        await self._beat(self._parts.time.now(), is_last=True)

    async def deliver(self, runs: Sequence[Run], claimed_at: float) -> list[Attempt]:
        """Deliver ``runs``, giving signs of life meanwhile: a queue may take its time."""
        is_over = asyncio.Event()
        beating = asyncio.ensure_future(self._beat_until(is_over))
        try:
            return await self._parts.courier.deliver(runs, claimed_at)
        finally:
            self._parts.pulse.steps += 1
            is_over.set()
            await beating

    async def _beat_until(self, is_over: asyncio.Event) -> None:
        while not is_over.is_set():
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    await is_over.wait()
            except TimeoutError:
                # A store that is away is no reason to stop delivering what is claimed.
                beat = self.beat_if_due(self._parts.time.now())
                await isolated("the heartbeat", beat, self._parts.observers)

    async def _beat(self, now: datetime, *, is_last: bool = False) -> None:
        held = [*self._parts.courier.in_hand(), *self._ledger.runs()]
        if not (held or self.is_well or is_last):
            return
        if self.is_well and self._since is None:
            self._since = now
        await self._repository.beat(
            Heartbeat(
                replica_id=self._parts.replica_id,
                at=now,
                tick_interval=self._parts.rules.tick_interval,
                keep=frozenset(run.run_id for run in held),
                lease=LEASE,
                is_last=is_last,
                is_well=self.is_well,
                since=self._since,
            )
        )
        if self.is_well and not is_last:
            self._parts.observers.tell(SignOfLife(now))

    async def deliver_only(self, run_id: UUID, now: datetime) -> None:
        """Take over and deliver a run that is kept for this replica, and no other."""
        await self._sweep(now, Counter(), run_id)

    async def _sweep(self, now: datetime, counts: Counter[str], only: UUID | None = None) -> None:
        parts = self._parts
        sweep = await self._repository.sweep(
            SweepOrder(
                at=now,
                limit=parts.batch_size,
                replica_id=parts.replica_id,
                lease=LEASE,
                deliver_inside=parts.courier.deliver_inside,
                starting_once=parts.courier.starting_once(),
                only=only,
            )
        )
        self._has_waiting_runs = False
        self.expect_run_at(sweep.next_at)
        self._ledger.note(sweep.records, counts)
        if sweep.runs:
            counts["retried"] += len(sweep.runs)
            attempts = await self.deliver(sweep.runs, parts.clock.monotonic())
            self._ledger.enter(attempts, parts.time.now(), counts)
