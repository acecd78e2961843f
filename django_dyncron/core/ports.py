"""The ports: what the scheduler asks of a store, a lock, a queue, a clock and an observer.

The abstract methods of :class:`ICronJobRepository`, :class:`ILockProvider` and
:class:`ITaskEnqueuer` are all a user must write. Everything else has a working default.
All moments are aware and in UTC.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from .definitions import CronJobDefinition, Run, Slot
from .events import Event
from .exceptions import EnqueueError, EnqueueNotSent, EnqueueRefused
from .planning import JobPlan
from .runs import Attempt, Outcome, Record


class ICronJobRepository(ABC):
    """Where cron jobs are kept. These two methods are enough for a store of your own."""

    @abstractmethod
    async def get_active_jobs(self) -> list[CronJobDefinition]:
        """Return every job that may run, as it stands now.

        Called once a tick; whatever is raised ends that tick and the scheduler tries again later.
        """

    @abstractmethod
    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        """Note that ``job_id`` was enqueued by the tick of ``run_time`` (UTC).

        Must never move the noted time backwards. A job that is gone is no error.
        """


class ILockProvider(ABC):
    """A gate that keeps replicas out of each other's way.

    With a durable repository it is only that; with a two-method repository it is the one record
    that a slot was taken.
    """

    @abstractmethod
    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        """Take ``lock_key`` for ``ttl_seconds``; return ``False`` if somebody holds it.

        Raise for anything else: an error is never read as success.
        """

    @abstractmethod
    async def release_lock(self, lock_key: str) -> None:
        """Give ``lock_key`` back if this provider still holds it; otherwise do nothing."""

    async def acquire_locks(self, lock_keys: Sequence[str], ttl_seconds: int) -> set[str]:
        """Take as many of ``lock_keys`` as are free and return those taken.

        If one attempt raises, those taken before it are given back and the error goes on.
        """
        taken: set[str] = set()
        try:
            for lock_key in lock_keys:
                if await self.acquire_lock(lock_key, ttl_seconds):
                    taken.add(lock_key)
        except BaseException:
            await self.release_locks(sorted(taken))
            raise
        return taken

    async def release_locks(self, lock_keys: Sequence[str]) -> None:
        """Give several locks back."""
        for lock_key in lock_keys:
            await self.release_lock(lock_key)

    def within_claims(self) -> ILockProvider:
        """Return the provider to ask while a claim has a database transaction open.

        Only a provider whose locks live in that database has to answer with another one.
        """
        return self

    async def aclose(self) -> None:
        """Close what this provider opened. Called once, after the last lock."""


class IRunJournal(Protocol):
    """How an enqueuer that runs tasks in this process reports on them."""

    async def start(self, run: Run) -> bool:
        """Mark ``run`` as running; ``False`` means somebody else has it: do not call the task."""

    async def finish(self, run: Run, error: str = "") -> None:
        """Mark ``run`` as succeeded or, with an ``error``, as failed."""


class ITaskEnqueuer(ABC):
    """The way into a task queue. ``enqueue_task`` is enough for a queue of your own."""

    refuses_repeated_ids: bool = False
    """Whether the queue refuses a run id it has already seen, while it remembers it."""

    @abstractmethod
    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> Any:
        """Hand a task to ``queue``; return the queue's id for it, or anything.

        Raise :class:`EnqueueRefused` for what can never work, :class:`EnqueueNotSent` when it
        certainly was not sent, :class:`EnqueueError` when that is not known. Any other exception is
        taken as the last.
        """

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        """Raise :class:`EnqueueRefused` if such a task could never be accepted.

        Asked when a job is saved, in any process; must not touch the network.
        """

    async def enqueue_run(self, run: Run) -> Any:
        """Hand over ``run`` with its identity; the default forwards to :meth:`enqueue_task`."""
        return await self.enqueue_task(run.task_name, run.payload, run.queue)

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        """Hand over many runs, each isolated from the others; one :class:`Attempt` a run.

        ``may_send`` must be asked before each message leaves: once it returns ``False`` the lease
        is about to end and the rest is left untried.
        """
        return [
            await attempt(self, run) if may_send() else Attempt(run, Outcome.UNTRIED)
            for run in runs
        ]

    def bind(self, journal: IRunJournal) -> None:
        """Receive the journal before the first run; only a pool in this process needs it."""

    def in_hand(self) -> Collection[Run]:
        """Return the runs this process has accepted and not finished, so that leases are kept."""
        return ()

    async def drain(self, grace: timedelta) -> Sequence[Run]:
        """Start nothing new, wait up to ``grace`` and return the runs that are still executing."""
        return ()

    async def aclose(self) -> None:
        """Close what this enqueuer opened. Called once, after :meth:`drain`."""


async def attempt(enqueuer: ITaskEnqueuer, run: Run) -> Attempt:
    """Hand one run over and translate what happened into an :class:`Attempt`."""
    try:
        answer = await enqueuer.enqueue_run(run)
    except EnqueueRefused as error:
        return Attempt(run, Outcome.REFUSED, error=one_line(error))
    except EnqueueNotSent as error:
        return Attempt(run, Outcome.NOT_SENT, error=one_line(error))
    except EnqueueError as error:
        return Attempt(run, Outcome.UNCERTAIN, error=one_line(error))
    except Exception as error:
        return Attempt(run, Outcome.UNCERTAIN, error=one_line(error, with_type=True))
    return Attempt(run, Outcome.ENQUEUED, task_id=answer if isinstance(answer, str) else "")


def one_line(error: BaseException, *, with_type: bool = False) -> str:
    """Return an error as one readable line, with its type where the words may not say enough."""
    text = " ".join(str(error).split())
    if with_type or not text:
        return f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text


class Clock(Protocol):
    """The time, and the way to wait for it."""

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow."""

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        """Return when ``wake`` is set or after ``seconds``, whichever is sooner."""


class Observer(Protocol):
    """Hears of each event after it is committed. Must not block; what it raises is logged."""

    def __call__(self, event: Event) -> None: ...


# --- durable repositories ---------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    """One batch to claim: judged at ``at``, at most ``limit`` jobs, none of ``excluded`` keys.

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
    plans_new: bool = True
    excluded: Collection[int] = ()
    records: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class ClaimedBatch:
    """What a claim won. ``is_full`` says that more may be waiting; ``refused`` are row keys."""

    runs: Sequence[Run] = ()
    plans: Sequence[tuple[StoredJob, JobPlan]] = ()
    refused: Sequence[int] = ()
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs whose lease had ended: taken over, or closed because nobody may run them again."""

    runs: Sequence[Run] = ()
    closed: Sequence[Record] = ()
    next_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life of one replica, and the leases it keeps."""

    replica_id: str
    at: datetime
    tick_interval: timedelta
    keep: Collection[UUID] = ()
    lease: timedelta = timedelta(seconds=60)
    is_last: bool = False


class IDurableCronJobRepository(ICronJobRepository):
    """A repository that can claim slots durably: what makes "exactly once" hold.

    Every method judges by the instant it is given. Raise :class:`StoreUnavailable` when the
    database is away or asks for a retry; then nothing of the call has happened.
    """

    @abstractmethod
    async def look_ahead(self, at: datetime | None) -> Horizon:
        """Tell what is due, in one statement, at ``at`` or, if ``None``, by the store's clock."""

    @abstractmethod
    async def claim_due(self, order: ClaimOrder) -> ClaimedBatch:
        """Plan and claim one batch of due or edited jobs, atomically.

        A slot is won by moving the job's cursor off it and adding its run row, both or neither, by
        comparison with what was planned: no slot is ever won twice.
        """

    @abstractmethod
    async def record(self, runs: Sequence[Record]) -> None:
        """Write what became of claimed ``runs``, and the job's last run and error."""

    @abstractmethod
    async def sweep(self, at: datetime, replica_id: str, lease: timedelta, limit: int) -> Sweep:
        """Take over claimed runs whose lease ended before ``at``; close those that must not rerun.

        A run found *running* with an ended lease is lost, a claimed one that promised at most one
        delivery is unknown, an undelivered one that a newer slot replaces is superseded.
        """

    @abstractmethod
    async def start_run(self, run: Run, replica_id: str, at: datetime, lease: timedelta) -> bool:
        """Move a run this replica claimed to *running*; ``False`` if it no longer owns it."""

    @abstractmethod
    async def finish_run(self, run: Run, status: str, at: datetime, error: str = "") -> None:
        """Close a running run."""

    @abstractmethod
    async def beat(self, heartbeat: Heartbeat) -> None:
        """Note a sign of life and extend the leases it keeps."""

    @abstractmethod
    async def review(self, time_zone: str) -> int:
        """Mark for planning the jobs that changed under our feet; return how many.

        Those are jobs planned for another project time zone than ``time_zone``, and jobs found
        broken, which a newer release or time zone database may be able to plan. Called once, when a
        scheduler starts.
        """
