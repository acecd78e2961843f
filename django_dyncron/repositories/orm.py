"""The cron jobs of this project's database, through Django's ORM and its connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError, connections, reset_queries, router
from django.db.models import Q

from ..core.claims import ClaimedBatch, ClaimOrder, Heartbeat, Horizon, Sweep, SweepOrder
from ..core.definitions import CronJobDefinition, Run
from ..core.exceptions import StoreUnavailable
from ..core.ports import IDurableCronJobRepository
from ..core.runs import Record
from ..models import DEFINITION_FIELDS, CronJob
from . import claiming, horizon, pruning, records, replicas, reviewing, sweeping

P = ParamSpec("P")
T = TypeVar("T")


class DjangoCronJobRepository(IDurableCronJobRepository):
    """Keeps cron jobs in the tables of this app.

    ``using`` is a database alias; by default the one the router writes :class:`CronJob` to. Each
    call takes one hop into the database thread. After a lost connection the next call connects
    again.
    """

    def __init__(self, using: str | None = None) -> None:
        self.using = using or router.db_for_write(CronJob)

    async def get_active_jobs(self) -> list[CronJobDefinition]:
        """Return every active job."""
        jobs = CronJob.objects.using(self.using).filter(is_active=True).order_by("job_id")
        return [CronJobDefinition(**values) async for values in jobs.values(*DEFINITION_FIELDS)]

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        """Note when a job was last enqueued, never backwards."""
        job = CronJob.objects.using(self.using).filter(job_id=job_id)
        earlier = Q(last_run_at__isnull=True) | Q(last_run_at__lt=run_time)
        await job.filter(earlier).aupdate(last_run_at=run_time)

    async def look_ahead(self, at: datetime | None) -> Horizon:
        return await self._call(_again_if_disconnected(horizon.look_ahead), at)

    async def claim_due(self, order: ClaimOrder) -> ClaimedBatch:
        return await self._call(claiming.claim_due, order)

    async def record(self, runs: Sequence[Record]) -> None:
        if runs:
            await self._call(records.record, runs)

    async def sweep(self, order: SweepOrder) -> Sweep:
        return await self._call(sweeping.sweep, order)

    async def start_run(self, run: Run, replica_id: str, at: datetime, lease: timedelta) -> bool:
        return await self._call(records.start, run, replica_id, at, lease)

    async def finish_run(self, run: Run, status: str, at: datetime, error: str = "") -> None:
        await self._call(records.finish, run, status, at, error)

    async def beat(self, heartbeat: Heartbeat) -> None:
        await self._call(replicas.beat, heartbeat)

    async def review(self, time_zone: str) -> int:
        return await self._call(reviewing.review, time_zone)

    async def replan_after(self, at: datetime) -> int:
        return await self._call(reviewing.replan_after, at)

    async def prune(self, before: datetime, limit: int) -> int:
        return await self._call(pruning.prune, before, limit)

    async def _call(self, function: Callable[..., T], *arguments: object) -> T:
        return await sync_to_async(self._call_in_thread)(function, *arguments)

    def _call_in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        if settings.DEBUG:
            # Nobody ends a request here, so the log of statements would only grow.
            reset_queries()
        try:
            return function(self.using, *arguments)
        except (OperationalError, InterfaceError) as error:
            # In this thread: another one would close another connection.
            connections[self.using].close()
            raise StoreUnavailable(f"Database {self.using!r}: {error}".strip()) from error


def _again_if_disconnected(function: Callable[P, T]) -> Callable[P, T]:
    """Let a read survive a connection that was closed while nobody used it."""

    def read(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return function(*arguments, **options)
        except (OperationalError, InterfaceError):
            connections[str(arguments[0])].close()
            return function(*arguments, **options)

    return read
