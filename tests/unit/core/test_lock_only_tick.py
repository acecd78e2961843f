"""The tick over a repository of two methods, where the lock is the only record."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from django_dyncron import (
    CronJobDefinition,
    DynamicScheduler,
    EnqueueError,
    EnqueueRefused,
    ICronJobRepository,
    ILockProvider,
    ITaskEnqueuer,
)
from django_dyncron.core.events import JobBroken, LockFailed
from django_dyncron.testing import FakeClock, ListRepository, RecordingEnqueuer


class SharedLocks(ILockProvider):
    """Locks in a dictionary, with a time-to-live on the clock of the test."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.held: dict[str, float] = {}
        self.released: list[str] = []

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        if self.held.get(lock_key, 0.0) > self.clock.monotonic():
            return False
        self.held[lock_key] = self.clock.monotonic() + ttl_seconds
        return True

    async def release_lock(self, lock_key: str) -> None:
        self.released.append(lock_key)
        self.held.pop(lock_key, None)


def job(
    job_id: str = "report", cron_expression: str = "* * * * *", **more: Any
) -> CronJobDefinition:
    return CronJobDefinition(job_id, "shop.tasks.report", cron_expression, **more)


class World:
    def __init__(self, start: str, *jobs: CronJobDefinition, **options: Any) -> None:
        self.clock = FakeClock(start)
        self.repository = ListRepository(jobs)
        self.locks = SharedLocks(self.clock)
        self.queue = RecordingEnqueuer()
        self.events: list[object] = []
        self.options = options

    def replica(self, **options: Any) -> DynamicScheduler:
        return DynamicScheduler(
            self.repository,
            options.pop("enqueuer", self.queue),
            options.pop("lock_provider", self.locks),
            clock=self.clock,
            observers=[self.events.append],
            **{**self.options, **options},
        )


async def test_the_current_minute_runs_at_the_first_tick_and_its_lock_is_kept() -> None:
    world = World("2026-11-30T12:00:10Z", job())
    await world.replica().tick()
    assert world.queue.slots == [("report", "2026-11-30T12:00Z")]
    assert list(world.locks.held) == ["dyncron:cron_lock:report:2026-11-30T12:00:00+00:00"]
    assert world.locks.released == []
    assert world.repository.jobs["report"].last_run_at == datetime(
        2026, 11, 30, 12, 0, 10, tzinfo=UTC
    )


async def test_two_replicas_run_each_slot_once() -> None:
    world = World("2026-11-30T12:00:10Z", job("a"), job("b", "*/2 * * * *"))
    replicas = [world.replica(), world.replica()]
    for _ in range(13):
        for replica in replicas:
            await replica.tick()
        world.clock.advance(10)
    assert sorted(world.queue.slots) == [
        ("a", "2026-11-30T12:00Z"),
        ("a", "2026-11-30T12:01Z"),
        ("a", "2026-11-30T12:02Z"),
        ("b", "2026-11-30T12:00Z"),
        ("b", "2026-11-30T12:02Z"),
    ]


async def test_slots_since_the_previous_tick_are_made_up_whatever_the_policy_allows() -> None:
    world = World("2026-11-30T12:00:10Z", job(misfire_policy="fire_all"))
    scheduler = world.replica()
    await scheduler.tick()
    world.clock.advance(180)
    await scheduler.tick()
    assert [slot for _, slot in world.queue.slots] == [
        "2026-11-30T12:00Z",
        "2026-11-30T12:01Z",
        "2026-11-30T12:02Z",
        "2026-11-30T12:03Z",
    ]


async def test_a_restart_looks_back_no_further_than_a_lock_lives_less_two_ticks() -> None:
    last_run_at = datetime(2026, 11, 30, 11, 0, tzinfo=UTC)
    world = World(
        "2026-11-30T12:00:10Z",
        job(misfire_policy="fire_all", last_run_at=last_run_at),
        lock_ttl_seconds=240,
    )
    await world.replica().tick()
    assert [slot for _, slot in world.queue.slots] == [
        "2026-11-30T11:58Z",
        "2026-11-30T11:59Z",
        "2026-11-30T12:00Z",
    ]


@pytest.mark.parametrize(
    "last_run_at",
    [
        datetime(2026, 11, 30, 12, 0, 5),  # noqa: DTZ001  a naive one is UTC
        datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC),
    ],
)
async def test_a_slot_noted_as_run_is_not_run_again(last_run_at: datetime) -> None:
    world = World("2026-11-30T12:00:10Z", job(last_run_at=last_run_at))
    await world.replica().tick()
    assert world.queue.slots == []


async def test_a_last_run_from_the_far_future_is_not_believed() -> None:
    world = World("2026-11-30T12:00:10Z", job(last_run_at=datetime(2026, 11, 30, 15, tzinfo=UTC)))
    await world.replica().tick()
    assert world.queue.slots == [("report", "2026-11-30T12:00Z")]


async def test_a_failed_enqueue_gives_the_lock_back_and_is_tried_again() -> None:
    world = World("2026-11-30T12:00:10Z", job(cron_expression="0 12 * * *"))
    world.queue = RecordingEnqueuer({"shop.tasks.report": [EnqueueError("away")]})
    scheduler = world.replica()
    result = await scheduler.tick()
    assert (result.failed, world.locks.held) == (1, {})
    world.clock.advance(30)
    result = await scheduler.tick()
    assert (result.enqueued, world.queue.slots) == (1, [("report", "2026-11-30T12:00Z")])


async def test_a_retry_ends_when_another_replicas_lock_could_have_expired() -> None:
    world = World("2026-11-30T12:00:10Z", job(cron_expression="0 12 * * *"))
    world.queue = RecordingEnqueuer({"shop.tasks.report": [EnqueueError("away")] * 9})
    scheduler = world.replica()
    failures = 0
    for _ in range(9):
        failures += (await scheduler.tick()).failed
        world.clock.advance(10)
    assert failures == 5
    assert world.queue.slots == []


async def test_what_is_refused_is_not_tried_again() -> None:
    world = World("2026-11-30T12:00:10Z", job(cron_expression="0 12 * * *"))
    world.queue = RecordingEnqueuer({"shop.tasks.report": [EnqueueRefused("no such task")] * 2})
    scheduler = world.replica()
    await scheduler.tick()
    world.clock.advance(10)
    assert (await scheduler.tick()).failed == 0


async def test_an_error_while_locking_is_not_success() -> None:
    class Broken(SharedLocks):
        async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
            raise ConnectionError("redis is away")

    world = World("2026-11-30T12:00:10Z", job())
    scheduler = world.replica(lock_provider=Broken(world.clock))
    await scheduler.tick()
    assert world.queue.slots == []
    assert world.events[0] == LockFailed("ConnectionError: redis is away", "skip")


async def test_without_a_lock_provider_one_process_runs_each_slot_once() -> None:
    world = World("2026-11-30T12:00:10Z", job())
    scheduler = world.replica(lock_provider=None)
    for _ in range(5):
        await scheduler.tick()
        world.clock.advance(10)
    assert world.queue.slots == [("report", "2026-11-30T12:00Z")]


async def test_odd_values_from_user_code_mark_their_job_and_no_other() -> None:
    world = World(
        "2026-11-30T12:00:10Z",
        CronJobDefinition("none", "shop.tasks.report", None),  # type: ignore[arg-type]
        CronJobDefinition("text", "shop.tasks.report", "* * * * *", last_run_at="yesterday"),  # type: ignore[arg-type]
        CronJobDefinition("empty", "shop.tasks.report", "* * * * *", payload=None),  # type: ignore[arg-type]
        job(),
    )
    await world.replica().tick()
    assert world.queue.slots == [("empty", "2026-11-30T12:00Z"), ("report", "2026-11-30T12:00Z")]
    assert world.queue.runs[0].payload == {}
    broken = [event.job_id for event in world.events if isinstance(event, JobBroken)]
    assert broken == ["none", "text"]


class TwoMethods(ICronJobRepository):
    def __init__(self) -> None:
        self.last_runs: list[tuple[str, datetime]] = []

    async def get_active_jobs(self) -> list[CronJobDefinition]:
        return [job()]

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        self.last_runs.append((job_id, run_time))


class OneMethod(ITaskEnqueuer):
    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any], str]] = []

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        self.calls.append((task_name, payload, queue))


async def test_the_abstract_methods_are_all_that_is_needed() -> None:
    clock = FakeClock("2026-11-30T12:00:10Z")
    repository, queue = TwoMethods(), OneMethod()
    scheduler = DynamicScheduler(repository, queue, SharedLocks(clock), clock=clock)
    await scheduler.tick()
    assert queue.calls == [("shop.tasks.report", {}, "default")]
    assert repository.last_runs == [("report", datetime(2026, 11, 30, 12, 0, 10, tzinfo=UTC))]
