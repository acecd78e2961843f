"""The ports: what the scheduler asks of a store, a lock, a queue, a clock and an observer.

The abstract methods of :class:`ICronJobRepository`, :class:`ILockProvider` and
:class:`ITaskEnqueuer` are all a user must write. Everything else has a working default.
All moments are aware and in UTC.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from .attempts import attempt
from .claims import ClaimedBatch, ClaimOrder, Heartbeat, Horizon, Sweep, SweepOrder
from .definitions import CronJobDefinition, Run
from .events import Event
from .exceptions import EnqueueNotSent
from .pauses import PausedSpan
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
    starts_once: bool = False
    """Whether a run is started by moving its row to *running*, which succeeds only once."""
    reports_ends: bool = False
    """Whether the end of a run is told, by its worker or by a pool in this process."""
    sends_batches: bool = False
    """Whether many runs are handed over in one go, or in few."""
    worker_module: str = ""
    """Dotted path of a module that the workers of this queue have to import, if there is one.

    Its function ``set_up_worker``, if it has one, is called with the options of the enqueuer.
    """
    hook_module: str = ""
    """Dotted path of a module that every process has to import as Django starts, if there is one.

    For a queue whose workers look for no ``tasks`` modules.
    """

    @property
    def lacks_workers(self) -> str:
        """What of the queue runs tasks in the scheduler, or not at all; blank if it has workers."""
        return ""

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

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise :class:`EnqueueRefused`, naming ``"options"``, for options of a job that are wrong.

        Asked when a job is saved. By default anything goes: :meth:`enqueue_run` may read them.
        """

    def task_url(self, task_id: str, queue: str) -> str | None:
        """Return the address of a page about a task, as :meth:`enqueue_run` named it, if any.

        Asked for each run that a page of the admin shows; must not touch the network.
        """
        return None

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
            await attempt(self.enqueue_run, run) if may_send() else Attempt(run, Outcome.UNTRIED)
            for run in runs
        ]

    def transaction_alias(self) -> str | None:
        """Return the database alias whose open transaction an enqueue joins, if there is one.

        A queue in the database of the cron jobs is told of a run in the transaction that claims
        it, so that both happen or neither.
        """
        return None

    def enqueue_runs_now(self, runs: Sequence[Run]) -> list[str]:
        """Add ``runs`` to a queue that joins the open transaction; return the queue's ids.

        Called in the database thread, only if :meth:`transaction_alias` names its database. Raises
        as :meth:`enqueue_task` does; the savepoint around the call is then rolled back.
        """
        raise EnqueueNotSent(f"{type(self).__name__} joins no transaction.")

    def bind(self, journal: IRunJournal) -> None:
        """Receive the journal before the first run; only a pool in this process needs it."""

    def in_hand(self) -> Collection[Run]:
        """Return the runs this process has accepted and not finished, so that leases are kept."""
        return ()

    def withdraw(self) -> Sequence[Run]:
        """Start nothing from now on; return the accepted runs that had not begun."""
        return ()

    async def drain(self, grace: timedelta) -> Sequence[Run]:
        """Wait up to ``grace`` for the runs that have begun; return those still executing.

        Called once, after :meth:`withdraw`.
        """
        return ()

    async def aclose(self) -> None:
        """Close what this enqueuer opened. Called once, after :meth:`drain`."""


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


class IDurableCronJobRepository(ICronJobRepository):
    """A repository that can claim slots durably: what makes "exactly once" hold.

    Every method judges by the instant it is given. Raise :class:`StoreUnavailable` when the
    database is away or asks for a retry; then nothing of the call has happened.
    """

    @abstractmethod
    async def look_ahead(self, at: datetime | None) -> Horizon:
        """Tell what is due, in one statement, at ``at`` or, if ``None``, by the store's clock."""

    @abstractmethod
    async def pauses(self, at: datetime) -> Sequence[PausedSpan]:
        """Return, oldest first, the pauses of everything that a slot due at ``at`` may fall in."""

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
    async def sweep(self, order: SweepOrder) -> Sweep:
        """Take over claimed runs whose lease ended; close those that must not be delivered again.

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
    async def report_start(self, run_id: UUID, job_id: str, task_id: str = "") -> bool:
        """Note that a worker of its queue begins a run; ``False`` if it began before.

        Asked by workers, not by the scheduler, so nobody owns the run. A run that is not there was
        begun before. ``task_id`` is the queue's name for it, if it has one.
        """

    @abstractmethod
    async def report_end(self, run_id: UUID, job_id: str, error: str = "") -> None:
        """Note how a run that a worker began has ended; an ``error`` says that it failed."""

    def report_start_here(self, run_id: UUID, job_id: str, task_id: str = "") -> bool:
        """Do as :meth:`report_start` does, in a thread, or a greenlet, without an event loop."""
        return asyncio.run(self.report_start(run_id, job_id, task_id))

    def report_end_here(self, run_id: UUID, job_id: str, error: str = "") -> None:
        """Do as :meth:`report_end` does, in a thread, or a greenlet, without an event loop."""
        asyncio.run(self.report_end(run_id, job_id, error))

    @abstractmethod
    async def beat(self, heartbeat: Heartbeat) -> None:
        """Note a sign of life and extend the leases it keeps."""

    @abstractmethod
    async def review(self, time_zone: str, at: datetime) -> int:
        """Mark for planning, at ``at``, the jobs that changed under our feet; return how many.

        Those are jobs planned for another project time zone than ``time_zone``, or with an older
        time zone database than the one installed; jobs found broken, which a newer release may be
        able to plan; and cursors more than a year ahead, which a clock gone wrong may have left.
        Called once, when a scheduler starts.
        """

    @abstractmethod
    async def replan_after(self, at: datetime) -> int:
        """Mark for planning the jobs whose cursor is later than ``at``; return how many.

        Called after the store's clock was seen to step back: they were planned in what is now the
        future.
        """

    @abstractmethod
    async def prune(self, before: datetime, limit: int) -> int:
        """Delete up to ``limit`` runs recorded before ``before``; return how many.

        A run that is claimed or running is never deleted, however old.
        """
