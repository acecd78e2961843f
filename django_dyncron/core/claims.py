"""What is passed to a durable repository and what comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from .definitions import CronJobDefinition, Run, Slot
from .planning import JobPlan
from .runs import Record


@dataclass(frozen=True, slots=True)
class Horizon:
    """What lies ahead: the store's own time, what waits, and when the next slot is due.

    ``needs_planning`` says that rows are new or edited; there may be due ones besides.
    """

    now: datetime
    next_due_at: datetime | None
    needs_planning: bool = False

    @property
    def has_work(self) -> bool:
        return self.needs_planning or (
            self.next_due_at is not None and self.next_due_at <= self.now
        )


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as its row was read for planning, under the row's lock where the store has locks.

    ``cursor`` is the next slot, or ``None`` when the row must be planned; ``plan_from`` is then the
    instant after which to look, or ``None`` for the present.
    """

    key: int
    definition: CronJobDefinition
    cursor: datetime | None
    plan_from: datetime | None = None


Gate = Callable[[Sequence[Slot]], Awaitable[Collection[Slot]]]
"""Asks the lock provider; returns the slots that may be claimed."""


Savepoint = Callable[[], AbstractContextManager[object]]
"""Opens a savepoint, rolled back when its block raises."""


class DeliverInside(Protocol):
    """Hands runs to those queues that join the transaction on database ``using``."""

    def __call__(
        self, runs: Sequence[Run], using: str, savepoint: Savepoint, at: datetime
    ) -> Sequence[Record]:
        """Return what to write; runs without a record are to be delivered after the commit."""


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    """One batch to claim: judged at ``at``, at most ``limit`` jobs, none of ``excluded`` keys.

    Planning ends early once the batch holds ``max_runs`` runs; the other rows are left as they are.

    ``plans_new`` asks for new and edited rows too, after the due ones. ``records`` of the batch
    before are written in the same transaction.
    """

    at: datetime
    limit: int
    replica_id: str
    key_prefix: str
    lease: timedelta
    plan: Callable[[StoredJob], JobPlan]
    gate: Gate | None = None
    deliver_inside: DeliverInside | None = None
    plans_new: bool = True
    max_runs: int = 2000
    excluded: Collection[int] = ()
    records: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class ClaimedBatch:
    """What a claim won.

    Of the ``claimed`` runs, ``runs`` are to be delivered now; what ``records`` tells of was
    delivered inside; of the rest, which wait for their time, the first is due at
    ``next_delivery_at``. ``is_full`` says that there may be more; ``refused`` are row keys.
    """

    runs: Sequence[Run] = ()
    claimed: int = 0
    records: Sequence[Record] = ()
    next_delivery_at: datetime | None = None
    plans: Sequence[tuple[StoredJob, JobPlan]] = ()
    refused: Sequence[int] = ()
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs whose lease had ended.

    ``runs`` were taken over and are to be delivered now. ``records`` tells of those delivered
    inside the transaction, or closed because they must not be delivered again.
    """

    runs: Sequence[Run] = ()
    records: Sequence[Record] = ()
    next_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SweepOrder:
    """A look at up to ``limit`` leases that ended before ``at``.

    ``starting_once`` names the enqueuers that start a run by its row. With ``only``, nothing is
    looked at but that run, which must be kept for this replica; its lease need not have ended.
    """

    at: datetime
    limit: int
    replica_id: str
    lease: timedelta
    deliver_inside: DeliverInside | None = None
    starting_once: Collection[str] = ()
    only: UUID | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life of one replica, and the leases it keeps.

    While its ticks fail it is not ``is_well``: leases are kept, but nobody must take it for alive.
    ``since`` is when this process gave its first one; another may have had the same id before.
    """

    replica_id: str
    at: datetime
    tick_interval: timedelta
    keep: Collection[UUID] = ()
    lease: timedelta = timedelta(seconds=60)
    is_last: bool = False
    is_well: bool = True
    since: datetime | None = None
