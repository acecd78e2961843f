"""The cron jobs of this project's database, through Django's ORM and its connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import (
    DataError,
    Error,
    IntegrityError,
    ProgrammingError,
    connections,
    reset_queries,
    router,
)

from ..core.claims import ClaimedBatch, ClaimOrder, Heartbeat, Horizon, Sweep, SweepOrder
from ..core.definitions import CronJobDefinition, Run
from ..core.exceptions import StoreUnavailable
from ..core.pauses import PausedSpan
from ..core.ports import IDurableCronJobRepository
from ..core.runs import Record
from ..models import DEFINITION_FIELDS, CronJob
from . import claiming, horizon, pauses, pruning, records, replicas, reporting, reviewing, sweeping
from .lacking import lacks_tables
from .notes import JobNotes
from .reconnecting import again_if_disconnected

T = TypeVar("T")


class DjangoCronJobRepository(IDurableCronJobRepository):
    """Keeps cron jobs in the tables of this app.

    ``using`` is a database alias; by default the one the router writes :class:`CronJob` to. Each
    call takes one hop into the database thread. After a lost connection the next call connects
    again.
    """

    def __init__(self, using: str | None = None) -> None:
        self.using = using or router.db_for_write(CronJob)
        self._notes = JobNotes()
        self._hop = sync_to_async(self._call_in_thread)

    async def get_active_jobs(self) -> list[CronJobDefinition]:
        """Return every active job."""
        return await self._call(_active_jobs)

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        """Note when a job was last enqueued, never backwards."""
        await self._call(records.note_last_run, self._notes, job_id, run_time)

    async def look_ahead(self, at: datetime | None) -> Horizon:
        return await self._call(_look_ahead, at)

    async def pauses(self, at: datetime) -> Sequence[PausedSpan]:
        return await self._call(_pauses, at)

    async def claim_due(self, order: ClaimOrder) -> ClaimedBatch:
        return await self._call(claiming.claim_due, self._notes, order)

    async def record(self, runs: Sequence[Record]) -> None:
        if runs:
            await self._call(records.record, self._notes, runs)

    async def sweep(self, order: SweepOrder) -> Sweep:
        return await self._call(sweeping.sweep, self._notes, order)

    async def start_run(self, run: Run, replica_id: str, at: datetime, lease: timedelta) -> bool:
        return await self._call(records.start, self._notes, run, replica_id, at, lease)

    async def finish_run(self, run: Run, status: str, at: datetime, error: str = "") -> None:
        await self._call(records.finish, self._notes, run, status, at, error)

    async def report_start(self, run_id: UUID, job_id: str, task_id: str = "") -> bool:
        return await self._call(reporting.report_start, run_id, job_id, task_id)

    async def report_end(self, run_id: UUID, job_id: str, error: str = "") -> None:
        await self._call(_report_end, self._notes, run_id, job_id, error)

    def report_start_here(self, run_id: UUID, job_id: str, task_id: str = "") -> bool:
        return self._call_in_thread(reporting.report_start, run_id, job_id, task_id)

    def report_end_here(self, run_id: UUID, job_id: str, error: str = "") -> None:
        self._call_in_thread(_report_end, self._notes, run_id, job_id, error)

    async def beat(self, heartbeat: Heartbeat) -> None:
        await self._call(replicas.beat, self._notes, heartbeat)

    async def review(self, time_zone: str, at: datetime) -> int:
        return await self._call(reviewing.review, time_zone, at)

    async def replan_after(self, at: datetime) -> int:
        return await self._call(reviewing.replan_after, at)

    async def prune(self, before: datetime, limit: int) -> int:
        return await self._call(pruning.prune, before, limit)

    async def _call(self, function: Callable[..., T], *arguments: object) -> T:
        return await self._hop(function, *arguments)

    def _call_in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        if settings.DEBUG:
            # Nobody ends a request here, so the log of statements would only grow.
            reset_queries()
        try:
            return function(self.using, *arguments)
        except Error as error:
            if lacks_tables(self.using, error):
                raise StoreUnavailable(
                    f'Database {self.using!r} lacks tables: run "manage.py migrate". ({error})'
                ) from error
            if isinstance(error, _OUR_OWN):
                raise
            # In this thread: another one would close another connection. Whatever it was, a new
            # connection may lead elsewhere: behind one to a primary that became a standby, every
            # write would fail for ever.
            connections[self.using].close()
            raise StoreUnavailable(f"Database {self.using!r}: {error}".strip()) from error


# They say and ask the same each time.
_look_ahead = again_if_disconnected(horizon.look_ahead)
_pauses = again_if_disconnected(pauses.pauses)
_report_end = again_if_disconnected(reporting.report_end)

_OUR_OWN = (IntegrityError, DataError, ProgrammingError)
"""What a statement or a value of ours can be at fault for, whatever the connection."""


def _active_jobs(using: str) -> list[CronJobDefinition]:
    jobs = CronJob.objects.using(using).filter(is_active=True).order_by("job_id")
    return [CronJobDefinition(**values) for values in jobs.values(*DEFINITION_FIELDS)]
