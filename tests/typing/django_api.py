"""The public API beyond the facade, used as a Django project would; only ever type-checked."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.core.asgi import get_asgi_application
from django.dispatch import receiver

from django_dyncron import CurrentRun, DynamicScheduler, ITaskEnqueuer, TickResult, signals
from django_dyncron.asgi import SchedulerLifespan
from django_dyncron.conf import ConfigurationError, DyncronSettings, get_settings
from django_dyncron.core.definitions import Run, Slot
from django_dyncron.core.events import Event, RunEnqueued, RunFailed
from django_dyncron.core.policies import MisfirePolicy, RunStatus
from django_dyncron.history import latest_runs, newest_runs
from django_dyncron.load import BusyTime, planned_load
from django_dyncron.locks.memory import MemoryLockProvider
from django_dyncron.locks.postgres import PostgresLockProvider
from django_dyncron.locks.redis import RedisLockProvider
from django_dyncron.locks.sqlite import SqliteLockProvider
from django_dyncron.manual import request_run
from django_dyncron.metrics import DyncronMetrics, serve_metrics
from django_dyncron.models import CronJob, CronRun, Pause, Replica
from django_dyncron.outlook import JobState, is_overdue, outlook, overdue, planning_rules, rows_in
from django_dyncron.pausing import current_pause, pause, pause_all, resume, resume_all
from django_dyncron.registry import declared_jobs, registered_tasks
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.wiring import open_scheduler

application = SchedulerLifespan(get_asgi_application())

logger = logging.getLogger(__name__)


def note_late(run: Run, lateness: timedelta, **more: Any) -> None:
    logger.warning("%s is %s late", run.job_id, lateness)


def note_end(run: CurrentRun, **more: Any) -> None:
    logger.info("%s of %s is over", run.run_id, run.job_id)


signals.run_late.connect(note_late)
signals.run_succeeded.connect(note_end, dispatch_uid="note_end")


@receiver([signals.run_failed, signals.run_lost])
def note_failure(sender: object, **more: Any) -> None:
    logger.error("%s", more.get("error"))


@receiver(signals.tick_done)
def note_tick(sender: object, result: TickResult, **more: Any) -> None:
    took: float = result.took.total_seconds()
    logger.debug("%d enqueued in %.3f s", result.enqueued, took)


def observe(event: Event) -> None:
    if isinstance(event, RunEnqueued):
        slot: datetime | None = event.run.scheduled_for
        logger.info("%s %s %s", event.run.job_id, slot, event.task_id)
    elif isinstance(event, RunFailed) and event.retry_at is None:
        logger.error("%s: %s", event.run.job_id, event.error)


class Pager:
    keep_alive_seconds = 10.0

    def keep_alive(self) -> None:
        logger.debug("not stuck")


async def run() -> TickResult:
    with_own_settings: DyncronSettings = get_settings(TICK_INTERVAL_SECONDS=10)
    server = serve_metrics("127.0.0.1", 0)
    port: int = server.port
    logger.info("metrics on port %d", port)
    try:
        async with open_scheduler(
            with_own_settings,
            replica_id="one",
            observers=[observe, server, DyncronMetrics()],
            keep_alive=[Pager()],
        ) as scheduler:
            result: TickResult = await scheduler.tick()
            return result
    except ConfigurationError as error:
        raise SystemExit(str(error)) from error
    finally:
        server.close()


def by_hand(queue: ITaskEnqueuer) -> list[DynamicScheduler]:
    locks = [
        MemoryLockProvider(),
        PostgresLockProvider("default", "locks.cron"),
        RedisLockProvider(url="redis://localhost:6379/0"),
        SqliteLockProvider(),
    ]
    repository = DjangoCronJobRepository(using="default")
    return [DynamicScheduler(repository, queue, each, observers=[observe]) for each in locks]


def operate(job_id: str) -> list[str]:
    jobs = CronJob.objects.filter(job_id=job_id, misfire_policy=MisfirePolicy.SKIP)
    paused: list[CronJob] = pause(jobs, reason="The shop moves.")
    resumed: list[CronJob] = resume(jobs)
    everything: Pause | None = pause_all("Inventory.", by="ann") or current_pause()
    was_paused: bool = resume_all(by="ann")
    run: CronRun = request_run(CronJob.objects.get(job_id=job_id), by="ann")
    names = [each.job_id for each in (*paused, *resumed)]
    return [*names, run.status, str(everything), str(was_paused)]


def look(job: CronJob) -> list[object]:
    now, rules = datetime.now(UTC), planning_rules()
    ahead = outlook(job, now, rules)
    state: JobState = ahead.state
    next_run_at: datetime | None = ahead.next_run_at
    newest: dict[str, list[CronRun]] = newest_runs([job], 10)
    latest: dict[str, CronRun] = latest_runs([job])
    busiest: tuple[BusyTime, ...] = planned_load(ZoneInfo("Europe/Berlin"), now=now).busiest
    broken = CronJob.objects.filter(rows_in(JobState.BROKEN) | overdue(now, rules)).count()
    lost = CronRun.objects.filter(status=RunStatus.LOST).count()
    is_late: bool = is_overdue(job, now, rules)
    replicas = [each.replica_id for each in Replica.objects.all()]
    identity = Slot(job.job_id, now).run_id("dyncron")
    known = [*registered_tasks(), *(each.job_id for each in declared_jobs())]
    return [
        *(state, next_run_at, newest, latest, busiest, broken, lost),
        *(is_late, replicas, identity, known),
    ]


def wrong() -> None:
    """Be refused: an error that is not found here is an "unused ignore"."""
    request_run(7)  # type: ignore[arg-type]
    signals.run_lost.connect(5)  # type: ignore[arg-type]
    RedisLockProvider(timeout_seconds="2")  # type: ignore[arg-type]
