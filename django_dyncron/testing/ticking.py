"""What a scheduler would enqueue at a given moment: asked by a test, and nothing is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from ..core.definitions import CronJobDefinition, Run
from ..core.ports import IDurableCronJobRepository, ITaskEnqueuer
from ..core.scheduler import DynamicScheduler
from .clock import FakeClock
from .doubles import RecordingEnqueuer
from .memory import InMemoryRepository

if TYPE_CHECKING:
    from ..conf import DyncronSettings
    from ..models import CronJob
    from ..registry import DeclaredJob

    Job: TypeAlias = CronJobDefinition | DeclaredJob | CronJob
    """A cron job in any of its shapes: a value, a declaration, a row whether saved or not."""

_INSTANT = timedelta(microseconds=1)


def tick_at(moment: datetime | str, jobs: Iterable[Job] | None = None) -> list[Run]:
    """Return what a scheduler that has been running enqueues in the minute of ``moment``.

    ``moment`` is aware, or a text such as ``"2026-11-30T06:00Z"``. ``jobs`` are the active ones of
    the configured repository unless they are given, and then no database is needed. The runs are in
    order of job id.

    A real tick is made over a copy of the jobs in memory, its clock standing at ``moment``, as if
    they had always been as they are and no run were unfinished. Nothing is sent, locked or written.
    What would wait for its jitter is there too.

    Raises :class:`AssertionError`, in the words a scheduler would record, if the enqueuer of a due
    job would refuse it or a job cannot be scheduled; :class:`ValueError` for a naive ``moment``;
    :class:`ConfigurationError` for wrong settings.
    """
    from asgiref.sync import async_to_sync

    return async_to_sync(atick_at)(moment, jobs)


async def atick_at(moment: datetime | str, jobs: Iterable[Job] | None = None) -> list[Run]:
    """Do as :func:`tick_at` does, in a coroutine."""
    from asgiref.sync import sync_to_async

    from ..conf import get_settings, load_enqueuers

    clock, settings = FakeClock(moment), get_settings()
    store = InMemoryRepository(clock.now)
    minute = clock.now().replace(second=0, microsecond=0)
    if jobs is None:
        jobs = await _stored_jobs(store, settings, minute)
    store.add(*map(_definition, jobs), created_at=minute - _INSTANT)
    enqueuers = await sync_to_async(load_enqueuers)(settings)
    judges = {name: _Judge(enqueuer) for name, enqueuer in enqueuers.items()}
    scheduler = DynamicScheduler(
        store,
        judges["default"],
        tick_interval_seconds=settings.tick_interval_seconds,
        enqueuers=judges,
        time_zone=settings.time_zone,
        catch_up_window_seconds=settings.catch_up_window_seconds,
        key_prefix=settings.key_prefix,
        clock=clock,
    )
    try:
        await scheduler.tick()
    finally:
        await scheduler.aclose()
    _fail_for_errors(store, clock.now())
    runs = [run for judge in judges.values() for run in judge.runs]
    return sorted(runs, key=lambda run: run.job_id)


async def _stored_jobs(
    store: InMemoryRepository, settings: DyncronSettings, minute: datetime
) -> list[CronJobDefinition]:
    """Return the jobs of the configured repository, whose pauses are copied into ``store``."""
    from asgiref.sync import sync_to_async

    from ..conf import load_repository

    repository = await sync_to_async(load_repository)(settings)
    if isinstance(repository, IDurableCronJobRepository):
        store.paused = list(await repository.pauses(minute))
    return await repository.get_active_jobs()


class _Judge(RecordingEnqueuer):
    """Records the runs that the enqueuer in whose place it stands would take."""

    def __init__(self, enqueuer: ITaskEnqueuer) -> None:
        super().__init__()
        self._enqueuer = enqueuer

    async def enqueue_run(self, run: Run) -> str:
        from asgiref.sync import sync_to_async

        # Looking a task up may import its module, which may use the ORM.
        await sync_to_async(self._check)(run)
        return await super().enqueue_run(run)

    async def aclose(self) -> None:
        await self._enqueuer.aclose()

    def _check(self, run: Run) -> None:
        self._enqueuer.check_task(run.task_name, run.payload, run.queue)
        self._enqueuer.check_options(run.options)


def _definition(job: Job) -> CronJobDefinition:
    definition = job if isinstance(job, CronJobDefinition) else job.definition()
    # A jitter makes a run wait after its tick, which nobody could see here.
    return replace(definition, jitter_seconds=0)


def _fail_for_errors(store: InMemoryRepository, at: datetime) -> None:
    errors = {row.job.job_id: row.last_error for row in store.rows.values() if row.last_error}
    if errors:
        lines = "\n".join(f"  {job_id}: {error}" for job_id, error in sorted(errors.items()))
        raise AssertionError(f"Cron jobs would fail at {at:%Y-%m-%d %H:%M} UTC:\n{lines}")
