"""What goes wrong beside the runs must not stop them; what cannot be helped is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from django_dyncron.core.definitions import CronJobDefinition, Run
from django_dyncron.core.events import RunFailed, SchedulerStopped, SlotsSkipped, StepFailed
from django_dyncron.core.exceptions import EnqueueError, EnqueueNotSent, StoreUnavailable
from django_dyncron.core.planning import PlanningRules, plan_job, without_overlap
from django_dyncron.core.runs import Attempt, Outcome, Record
from django_dyncron.core.scheduler import DynamicScheduler, _back_off
from django_dyncron.core.text import one_line
from django_dyncron.testing import (
    FakeClock,
    InMemoryRepository,
    ListRepository,
    RecordingEnqueuer,
)

NOON = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)


def job(job_id: str = "report", **values: Any) -> CronJobDefinition:
    expression = values.pop("cron_expression", "* * * * *")
    return CronJobDefinition(job_id, f"shop.{job_id}", expression, **values)


class World:
    def __init__(self, repository: InMemoryRepository | None = None, **options: Any) -> None:
        self.clock = FakeClock(NOON)
        self.repository = repository or InMemoryRepository()
        self.repository.clock = self.clock.now
        self.events: list[Any] = []
        self.queue: Any = options.pop("queue", RecordingEnqueuer())
        self.scheduler = DynamicScheduler(
            self.repository,
            self.queue,
            clock=self.clock,
            observers=[self.events.append],
            **options,
        )

    async def go(self, seconds: float) -> list[str]:
        self.clock.advance(seconds)
        before = len(self.queue.runs)
        await self.scheduler.tick()
        return [run.job_id for run in self.queue.runs[before:]]

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def test_the_pause_between_failed_ticks_stays_bounded_for_ever() -> None:
    assert 15 <= _back_off(6) <= 30
    assert 15 <= _back_off(100_000) <= 30


@pytest.mark.parametrize(
    "text, storable",
    [
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("file \udce9", "file ?"),
        ("two\n  lines", "two lines"),
    ],
)
def test_an_error_is_one_line_that_any_database_can_hold(text: str, storable: str) -> None:
    assert one_line(ValueError(text)) == storable


class PoisonedRecords(InMemoryRepository):
    """A store that cannot write what the queue said about one job."""

    async def record(self, runs: Sequence[Record]) -> None:
        if any(record.run.job_id == "poison" for record in runs):
            raise ValueError("such a value cannot be written")
        await super().record(runs)

    async def claim_due(self, order: Any) -> Any:
        if any(record.run.job_id == "poison" for record in order.records):
            raise ValueError("such a value cannot be written")
        return await super().claim_due(order)


async def test_a_record_that_cannot_be_written_stops_no_other() -> None:
    world = World(PoisonedRecords())
    world.repository.add(job("poison"), job("sound"))
    await world.go(0)
    assert await world.go(30) == ["poison", "sound"]
    statuses = {run.run.job_id: run.status for run in world.repository.runs.values()}
    assert statuses == {"poison": "claimed", "sound": "enqueued"}
    assert [event.step for event in world.told(StepFailed)] == ["recording a run of poison"]
    assert "sound" in await world.go(60)


async def test_upkeep_that_fails_holds_up_no_run() -> None:
    class NoUpkeep(InMemoryRepository):
        async def prune(self, before: datetime, limit: int) -> int:
            raise PermissionError("no right to delete")

        async def sweep(self, order: Any) -> Any:
            raise ZeroDivisionError

        async def beat(self, heartbeat: Any) -> None:
            raise LookupError("no replica table")

    world = World(NoUpkeep(), run_retention_days=30)
    world.repository.add(job())
    await world.go(0)
    assert await world.go(30) == ["report"]
    assert await world.go(60) == ["report"]
    steps = {event.step for event in world.told(StepFailed)}
    assert steps == {"pruning", "the sweep", "the heartbeat"}


async def test_at_most_once_is_tried_again_when_it_was_surely_not_sent() -> None:
    queue = RecordingEnqueuer({"shop.report": [EnqueueNotSent("refused")] * 2})
    world = World(queue=queue)
    world.repository.add(job(cron_expression="1 12 * * *", delivery="at_most_once"))
    await world.go(0)
    assert await world.go(30) == []
    assert await world.go(30) == []
    assert await world.go(60) == ["report"]


async def test_at_most_once_is_given_up_when_its_replica_died_with_it() -> None:
    class Hangs(RecordingEnqueuer):
        async def enqueue_runs(self, runs: Any, may_send: Any) -> Any:
            raise asyncio.CancelledError

    world = World()
    world.repository.add(job(cron_expression="1 12 * * *", delivery="at_most_once"))
    await world.go(0)
    world.clock.advance(30)
    dying = DynamicScheduler(world.repository, Hangs(), clock=world.clock)
    with pytest.raises(asyncio.CancelledError):
        await dying.tick()
    assert await world.go(61) == []
    assert [run.status for run in world.repository.runs.values()] == ["unknown"]
    assert len(world.told(RunFailed)) == 1


class Pool(RecordingEnqueuer):
    """A local pool with one run that waits and one that never ends."""

    starts_once = True

    def __init__(self) -> None:
        super().__init__()
        self.executing: list[Run] = []
        self.waiting: list[Run] = []

    async def enqueue_runs(self, runs: Sequence[Run], may_send: Any) -> list[Attempt]:
        self.runs += runs
        for run in runs:
            (self.waiting if self.executing else self.executing).append(run)
        return [Attempt(run, Outcome.STARTED_HERE) for run in runs]

    def in_hand(self) -> list[Run]:
        return [*self.executing, *self.waiting]

    def withdraw(self) -> list[Run]:
        waiting, self.waiting = self.waiting, []
        return waiting

    async def drain(self, grace: timedelta) -> list[Run]:
        return self.executing


async def test_waiting_local_runs_are_another_replicas_at_once() -> None:
    world = World(queue=Pool())
    world.repository.add(job("first", delivery="at_most_once"), job("second"))
    await world.go(0)
    await world.go(30)
    world.scheduler.stop()
    await world.scheduler.start()
    statuses = {run.run.job_id: run.status for run in world.repository.runs.values()}
    assert statuses == {"first": "lost", "second": "claimed"}
    other = World(world.repository)
    assert await other.go(30) == ["second"]


async def test_lost_runs_are_counted_though_the_store_is_away() -> None:
    class GoesAway(InMemoryRepository):
        is_away = False

        async def record(self, runs: Sequence[Record]) -> None:
            if self.is_away:
                raise StoreUnavailable("gone")
            await super().record(runs)

        async def beat(self, heartbeat: Any) -> None:
            if self.is_away:
                raise StoreUnavailable("gone")

    repository = GoesAway()
    world = World(repository, queue=Pool())
    world.repository.add(job("first"), job("second"))
    await world.go(0)
    await world.go(30)
    repository.is_away = True
    world.scheduler.stop()
    await world.scheduler.start()
    assert world.scheduler.unfinished_runs == 1
    assert world.events[-1] == SchedulerStopped(world.scheduler.replica_id, 1)


async def test_superseded_runs_are_told_as_skipped() -> None:
    queue = RecordingEnqueuer({"shop.report": [EnqueueError("away")]})
    world = World(queue=queue)
    world.repository.add(job(cron_expression="*/1 * * * *"))
    await world.go(0)
    await world.go(30)
    await world.go(60)
    await world.go(10)
    skipped = world.told(SlotsSkipped)
    assert [(event.reason, f"{event.first:%H:%M}") for event in skipped] in (
        [],
        [("superseded", "12:01")],
    )


def test_a_window_of_nothing_still_lets_a_job_run_on_time() -> None:
    now = NOON.replace(second=5)
    plan = plan_job(job(catch_up_window_seconds=0), now.replace(second=0), now, PlanningRules())
    assert [f"{run.scheduled_for:%H:%M}" for run in plan.runs] == ["12:00"]


def test_many_missed_slots_are_made_up_in_passes() -> None:
    many = job(misfire_policy="fire_all", max_catch_up=10_000)
    cursor = NOON.replace(second=0) - timedelta(minutes=250)
    made_up: list[datetime] = []
    passes = 0
    while cursor <= NOON:
        plan = plan_job(many, cursor, NOON, PlanningRules())
        assert plan.next_run_at is not None
        assert plan.skips == ()
        made_up += [run.scheduled_for for run in plan.runs]
        cursor, passes = plan.next_run_at, passes + 1
    assert passes == 3
    assert made_up == [NOON.replace(second=0) - timedelta(minutes=n) for n in range(250, -1, -1)]


async def test_two_methods_keep_the_lock_of_what_may_have_been_sent() -> None:
    clock = FakeClock(NOON)
    queue = RecordingEnqueuer({"shop.report": [EnqueueError("timed out")]})
    scheduler = DynamicScheduler(
        ListRepository([job(delivery="at_most_once", cron_expression="0 12 * * *")]),
        queue,
        clock=clock,
    )
    assert (await scheduler.tick()).failed == 1
    clock.advance(10)
    assert (await scheduler.tick()).failed == 0
    assert queue.runs == []


def test_a_long_stretch_of_overlaps_is_one_row() -> None:
    careful = job(misfire_policy="fire_all", max_catch_up=10_000, overlap_policy="skip")
    cursor = NOON.replace(second=0) - timedelta(minutes=250)
    plan = without_overlap(plan_job(careful, cursor, NOON, PlanningRules()), is_running=False)
    assert [run.scheduled_for for run in plan.runs] == [cursor]
    assert [(skip.count, skip.reason, skip.last) for skip in plan.skips] == [
        (250, "overlap", NOON.replace(second=0))
    ]
    assert plan.next_run_at == NOON.replace(minute=1, second=0)
