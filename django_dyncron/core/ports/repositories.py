"""The ports of a store: two methods are enough, a durable one claims."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from ..claims import ClaimedBatch, ClaimOrder, Heartbeat, Horizon, Sweep, SweepOrder
from ..definitions import CronJobDefinition, Run
from ..pauses import PausedSpan
from ..runs import Record


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
