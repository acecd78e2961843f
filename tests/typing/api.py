"""The public API, used as a project would use it; only ever type-checked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django_dyncron import (
    CronJobDefinition,
    CronSchedule,
    CurrentRun,
    DynamicScheduler,
    DyncronError,
    EnqueueError,
    EnqueueNotSent,
    EnqueueRefused,
    ICronJobRepository,
    ILockProvider,
    InvalidCronExpression,
    ITaskEnqueuer,
    LockError,
    RunNotStarted,
    StoreUnavailable,
    TickResult,
    UnknownTimeZone,
    background_task,
    cron_job,
    current_run,
    runs_once,
)
from django_dyncron.testing import (
    FakeClock,
    InMemoryRepository,
    ListRepository,
    RecordingEnqueuer,
    atick_at,
    tick_at,
)


class Repository(ICronJobRepository):
    async def get_active_jobs(self) -> list[CronJobDefinition]:
        return [CronJobDefinition("report", "shop.tasks.report", "0 6 * * *", {"full": True})]

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        self.noted = (job_id, run_time)


class Locks(ILockProvider):
    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        if ttl_seconds < 1:
            raise LockError("There is no time for that.")
        return True

    async def release_lock(self, lock_key: str) -> None:
        return None


class Queue(ITaskEnqueuer):
    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> str:
        if queue == "closed":
            raise EnqueueRefused("There is no such queue.", field="queue")
        if not payload:
            raise EnqueueNotSent("Not now.")
        raise EnqueueError("Nobody knows.")


@background_task
def plain(user_id: int) -> None:
    run: CurrentRun | None = current_run()
    noted = [user_id, run and run.job_id, run and run.scheduled_for]
    noted.clear()


@background_task
@runs_once
def charge(invoice: int) -> None:
    assert invoice


def due_runs() -> list[tuple[str, dict[str, Any]]]:
    return [(run.job_id, run.payload) for run in tick_at("2026-11-30T06:00Z")]


@cron_job("0 6 * * *", job_id="report", payload={"full": True}, time_zone="Asia/Tokyo")
@background_task(queue="mail")
async def report(full: bool) -> None:
    assert full


async def test_the_report() -> None:
    clock = FakeClock("2026-11-30T05:59Z")
    store, queue = InMemoryRepository(clock.now), RecordingEnqueuer()
    store.add(CronJobDefinition("report", "shop.tasks.report", "0 6 * * *", queue="mail"))
    scheduler = DynamicScheduler(store, queue, enqueuers={"other": Queue()}, clock=clock)
    clock.advance(60)
    await scheduler.tick()
    slots: list[tuple[str, str]] = queue.slots
    assert slots == [("report", "2026-11-30T06:00Z")]
    assert [run.job_id for run in await atick_at(clock.now())] == ["report"]
    assert ListRepository([CronJobDefinition("a", "b", "@daily")]).jobs["a"].queue == "default"


async def run() -> TickResult:
    scheduler = DynamicScheduler(Repository(), Queue(), Locks(), 10, time_zone="Europe/Paris")
    try:
        result: TickResult = await scheduler.tick()
    except (StoreUnavailable, RunNotStarted) as error:
        known: DyncronError = error
        raise SystemExit(str(known)) from error
    await scheduler.start()
    scheduler.stop()
    return result


def upcoming(expression: str) -> list[datetime]:
    try:
        schedule = CronSchedule.parse(expression, "Europe/Paris", dst_gap="skip", hash_id="report")
    except UnknownTimeZone:
        raise
    except InvalidCronExpression as error:
        raise LookupError(error.field, error.value) from error
    after: datetime = schedule.next_after(datetime(2026, 11, 30, tzinfo=UTC))
    return [*schedule.upcoming(after, 5), *schedule.between(after, after)]


def wrong() -> None:
    """Be refused: an error that is not found here is an "unused ignore"."""
    CronSchedule.parse(5)  # type: ignore[arg-type]
    cron_job("0 6 * * *", payload="full")  # type: ignore[arg-type]
    ListRepository(["report"])  # type: ignore[list-item]
