"""The backlog: what is due is claimed and delivered, batch after batch.

Claiming keeps the database busy, delivering a queue's network. So while one batch is delivered the
next is claimed already, but never more than that one: it has a lease, and a replica may die.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from .claims import ClaimedBatch, ClaimOrder, StoredJob
from .courier import LEASE
from .events import JobBroken, SlotsSkipped
from .exceptions import StoreUnavailable
from .gate import Passage
from .ledger import Ledger
from .parts import Parts
from .pauses import PausedSpan
from .planning import JobPlan, plan_job
from .ports import IDurableCronJobRepository
from .upkeep import Upkeep
from .watch import PauseWatch

_REFUSED_SECONDS = 1.0
"""A job whose lock somebody held is tried again after this long."""
_CONTENDED_SECONDS = 0.1
"""Rows another replica is just claiming are looked at again after this long."""
_QUICK_SECONDS = 10.0
"""After a delivery that took longer, no batch is claimed ahead: its lease would pass in waiting."""


@dataclass(frozen=True, slots=True)
class _InHand:
    """A ``batch`` to deliver, claimed at a monotonic instant, and the locks taken for it."""

    batch: ClaimedBatch
    claimed_at: float
    passage: Passage


class Backlog:
    """Works off what waits in ``repository``."""

    def __init__(
        self, repository: IDurableCronJobRepository, parts: Parts, ledger: Ledger, upkeep: Upkeep
    ) -> None:
        self._repository = repository
        self._parts = parts
        self._ledger = ledger
        self._upkeep = upkeep
        self._watch = PauseWatch(repository, parts.clock)
        self._refused_until: dict[int, float] = {}
        self._delivery_seconds = 0.0

    async def work_off(
        self, plans_new: bool, counts: Counter[str], is_stopping: Callable[[], bool]
    ) -> bool:
        """Claim and deliver until a batch is not full; return whether any cursor was moved.

        Once ``is_stopping``, nothing more is claimed. What is claimed by then is delivered.
        """
        has_moved = False
        hand: _InHand | None = await self._claim(plans_new, counts)
        while hand is not None:
            batch = hand.batch
            has_moved = has_moved or bool(batch.plans)
            if batch.is_full and self._may_claim_ahead() and not is_stopping():
                hand = await self._deliver_and_claim(hand, plans_new, counts)
                continue
            await self._deliver(hand, counts)
            if is_stopping():
                # No sweep: it would hand over runs of its own, and to a queue that may hang.
                return has_moved
            await self._upkeep.run(self._parts.time.now(), counts)
            goes_on = batch.is_full and not is_stopping()
            hand = await self._claim(plans_new, counts) if goes_on else None
        return has_moved

    def seconds_to_free(self) -> float:
        """Return how long to leave alone what is due but was in somebody else's hands."""
        if not self._refused_until:
            return _CONTENDED_SECONDS
        return min(self._refused_until.values()) - self._parts.clock.monotonic()

    # --- one ahead ------------------------------------------------------------------------------

    def _may_claim_ahead(self) -> bool:
        # Upkeep may deliver runs of its own: a claimed batch would have to wait for those, too.
        return self._delivery_seconds <= _QUICK_SECONDS and not self._upkeep.is_due()

    async def _deliver_and_claim(
        self, hand: _InHand, plans_new: bool, counts: Counter[str]
    ) -> _InHand:
        """Deliver ``hand`` while the next batch is claimed; neither is left behind by an error."""
        delivered, ahead = await asyncio.gather(
            self._deliver(hand, counts),
            self._claim_behind(plans_new, counts),
            return_exceptions=True,
        )
        if isinstance(ahead, BaseException):
            if isinstance(delivered, BaseException):
                ahead.add_note(f"The delivery beside it failed, too: {delivered!r}")
            raise ahead
        if isinstance(delivered, BaseException):
            # Until its lease ends, nobody else would deliver what is claimed.
            await self._deliver(ahead, counts)
            raise delivered
        return ahead

    async def _claim_behind(self, plans_new: bool, counts: Counter[str]) -> _InHand:
        # One turn later, so that what a delivery asks of the database thread comes first.
        await asyncio.sleep(0)
        return await self._claim(plans_new, counts)

    # --- delivering -----------------------------------------------------------------------------

    async def _deliver(self, hand: _InHand, counts: Counter[str]) -> None:
        began = self._parts.clock.monotonic()
        try:
            attempts = await self._upkeep.deliver(hand.batch.runs, hand.claimed_at)
            self._ledger.enter(attempts, self._parts.time.now(), counts)
        finally:
            self._delivery_seconds = self._parts.clock.monotonic() - began
            await hand.passage.release()

    # --- claiming -------------------------------------------------------------------------------

    async def _claim(self, plans_new: bool, counts: Counter[str]) -> _InHand:
        now, instant = self._parts.time.now(), self._parts.clock.monotonic()
        self._refused_until = {
            key: until for key, until in self._refused_until.items() if until > instant
        }
        pauses = await self._watch.pauses(now)
        passage = Passage(self._parts.gate, now)
        try:
            order = self._order(now, plans_new, passage, pauses)
            batch = await self._claim_and_record(order, passage)
        except BaseException:
            await passage.release()
            raise
        self._refused_until |= dict.fromkeys(batch.refused, instant + _REFUSED_SECONDS)
        self._note(batch, counts)
        return _InHand(batch, instant, passage)

    def _order(
        self, now: datetime, plans_new: bool, passage: Passage, pauses: Sequence[PausedSpan]
    ) -> ClaimOrder:
        parts = self._parts
        return ClaimOrder(
            at=now,
            limit=parts.batch_size,
            replica_id=parts.replica_id,
            key_prefix=parts.key_prefix,
            lease=LEASE,
            plan=lambda stored: self._plan(stored, now, pauses),
            gate=None if parts.gate is None else passage.admit,
            deliver_inside=parts.courier.deliver_inside,
            plans_new=plans_new,
            excluded=tuple(self._refused_until),
            records=self._ledger.open_records(),
        )

    async def _claim_and_record(self, order: ClaimOrder, passage: Passage) -> ClaimedBatch:
        try:
            batch = await self._repository.claim_due(order)
        except StoreUnavailable:
            raise
        except Exception:
            if not order.records:
                raise
            # It may have been one of the records: write them apart, then claim without.
            await passage.release()
            await self._ledger.write(self._repository)
            return await self._repository.claim_due(replace(order, records=()))
        self._ledger.close(len(order.records))
        return batch

    def _plan(self, stored: StoredJob, now: datetime, pauses: Sequence[PausedSpan]) -> JobPlan:
        rules = self._parts.rules
        return plan_job(stored.definition, stored.cursor, now, rules, stored.plan_from, pauses)

    def _note(self, batch: ClaimedBatch, counts: Counter[str]) -> None:
        """Tell what a claim did to the jobs, before any of its runs is told of."""
        self._upkeep.note_progress()
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
        self._ledger.note(batch.records, counts)
        self._upkeep.expect_run_at(batch.next_delivery_at)
