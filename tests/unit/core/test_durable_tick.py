"""The tick over a durable repository, on a clock that is moved by hand."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise

from django_dyncron.core.definitions import CronJobDefinition
from django_dyncron.core.exceptions import EnqueueError, EnqueueNotSent, EnqueueRefused
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer


def job(
    job_id: str = "report", cron_expression: str = "* * * * *", **more: object
) -> CronJobDefinition:
    return CronJobDefinition(job_id, "shop.tasks.report", cron_expression, **more)  # type: ignore[arg-type]


START = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)


class World:
    """One store, one clock and any number of schedulers around them."""

    def __init__(self, start: str, *jobs: CronJobDefinition, **errors: list[Exception]) -> None:
        self.clock = FakeClock(start)
        self.repository = InMemoryRepository(clock=self.clock.now)
        self.repository.add(*jobs)
        self.queue = RecordingEnqueuer(
            {name.replace("__", "."): raised for name, raised in errors.items()}
        )
        self.scheduler = self.replica()

    def replica(self, **options: object) -> DynamicScheduler:
        return DynamicScheduler(self.repository, self.queue, clock=self.clock, **options)  # type: ignore[arg-type]

    def statuses(self) -> dict[str, str]:
        return {
            f"{stored.run.scheduled_for:%H:%M}": stored.status
            for stored in sorted(
                self.repository.runs.values(),
                key=lambda stored: stored.run.scheduled_for or START,
            )
        }


async def test_a_new_job_first_runs_in_the_next_minute() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    await world.scheduler.tick()
    assert world.queue.slots == []
    world.clock.advance(30)
    result = await world.scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:01Z")]
    assert (result.claimed, result.enqueued) == (1, 1)
    assert result.next_due_at == datetime(2026, 11, 30, 12, 2, tzinfo=UTC)
    assert world.repository.row("report").job.last_run_at == datetime(
        2026, 11, 30, 12, 1, tzinfo=UTC
    )


async def test_the_same_minute_is_not_run_twice_by_anybody() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    other = world.replica()
    await world.scheduler.tick()
    world.clock.advance(30)
    for scheduler in (world.scheduler, other, world.scheduler):
        await scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:01Z")]


async def test_fire_once_runs_the_latest_missed_slot_and_records_the_others() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    await world.scheduler.tick()
    world.clock.advance(210)
    await world.scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:04Z")]
    assert world.statuses() == {
        "12:01": "skipped",
        "12:02": "skipped",
        "12:03": "skipped",
        "12:04": "enqueued",
    }


async def test_fire_all_runs_every_missed_slot_oldest_first() -> None:
    world = World("2026-11-30T12:00:30Z", job(misfire_policy="fire_all", max_catch_up=2))
    await world.scheduler.tick()
    world.clock.advance(210)
    await world.scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:03Z"), ("report", "2026-11-30T12:04Z")]


async def test_a_broken_expression_marks_its_job_and_no_other() -> None:
    world = World("2026-11-30T12:00:30Z", job("broken", "61 * * * *"), job())
    await world.scheduler.tick()
    world.clock.advance(30)
    await world.scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:01Z")]
    assert "61" in world.repository.row("broken").last_error
    assert await world.repository.look_ahead(None) is not None
    world.repository.edit("broken", cron_expression="* * * * *")
    await world.scheduler.tick()
    assert world.repository.row("broken").last_error == ""


async def test_an_edit_by_sql_counts_from_the_tick_that_notices() -> None:
    world = World("2026-11-30T12:00:30Z", job(cron_expression="0 0 * * *"))
    await world.scheduler.tick()
    world.clock.advance(600)
    world.repository.edit("report", is_noted=False, cron_expression="* * * * *")
    world.clock.advance(100)
    await world.scheduler.tick()
    assert world.queue.slots == []
    world.clock.advance(50)
    await world.scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:13Z")]


async def test_pause_and_resume_never_fire_the_past() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    await world.scheduler.tick()
    world.repository.edit("report", is_active=False)
    world.clock.advance(300)
    await world.scheduler.tick()
    assert world.repository.row("report").next_run_at is None
    world.repository.edit("report", is_active=True)
    await world.scheduler.tick()
    assert world.queue.slots == []
    world.clock.advance(60)
    await world.scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:06Z")]


async def test_a_failed_enqueue_is_tried_at_the_next_tick_with_the_same_run() -> None:
    world = World(
        "2026-11-30T12:00:30Z",
        job(cron_expression="1 12 * * *"),
        shop__tasks__report=[EnqueueError("away")],
    )
    await world.scheduler.tick()
    world.clock.advance(30)
    result = await world.scheduler.tick()
    assert (result.failed, world.statuses()) == (1, {"12:01": "claimed"})
    assert world.repository.row("report").last_error == "away"
    world.clock.advance(30)
    result = await world.scheduler.tick()
    assert (result.retried, world.statuses()) == (1, {"12:01": "enqueued"})
    assert world.repository.row("report").last_error == ""
    assert world.queue.slots == [("report", "2026-11-30T12:01Z")]


async def test_retries_wait_30_seconds_and_double_until_the_window_ends() -> None:
    world = World(
        "2026-11-30T12:00:30Z",
        job(cron_expression="1 12 * * *", catch_up_window_seconds=600),
        shop__tasks__report=[EnqueueNotSent("down")] * 20,
    )
    tried_at = []
    await world.scheduler.tick()
    for second in range(30, 1200):
        world.clock.advance(1)
        result = await world.scheduler.tick()
        if result.failed:
            tried_at.append(second - 30)
    assert world.statuses() == {"12:01": "failed"}
    pauses = [later - earlier for earlier, later in pairwise(tried_at)]
    assert len(pauses) == 5
    for pause, longest in zip(pauses, [10, 30, 60, 120, 240], strict=True):
        assert 0 < pause <= longest + 1


async def test_what_can_never_work_fails_at_once() -> None:
    world = World(
        "2026-11-30T12:00:30Z", job(), shop__tasks__report=[EnqueueRefused("unknown task")]
    )
    await world.scheduler.tick()
    world.clock.advance(30)
    await world.scheduler.tick()
    assert world.statuses() == {"12:01": "failed"}
    assert world.repository.row("report").last_error == "unknown task"


async def test_at_most_once_does_not_repeat_what_may_have_been_sent() -> None:
    world = World(
        "2026-11-30T12:00:30Z",
        job(cron_expression="1 12 * * *", delivery="at_most_once"),
        shop__tasks__report=[EnqueueNotSent("refused"), EnqueueError("timed out")],
    )
    await world.scheduler.tick()
    world.clock.advance(30)
    await world.scheduler.tick()
    assert world.statuses() == {"12:01": "claimed"}
    world.clock.advance(30)
    await world.scheduler.tick()
    assert world.statuses() == {"12:01": "unknown"}


class Died(BaseException):
    """The process ended here."""


async def test_a_replica_that_died_after_its_claim_is_replaced() -> None:
    class DiesOnce(RecordingEnqueuer):
        async def enqueue_runs(self, runs, may_send):  # type: ignore[no-untyped-def]
            raise Died

    world = World("2026-11-30T12:00:30Z", job(cron_expression="1 12 * * *"))
    await world.scheduler.tick()
    world.clock.advance(30)
    dying = DynamicScheduler(world.repository, DiesOnce(), clock=world.clock)
    with suppress(Died):
        await dying.tick()
    await world.scheduler.tick()
    assert world.queue.slots == []
    world.clock.advance(61)
    await world.scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:01Z")]
    assert world.queue.runs[0].attempts == 2


async def test_a_hand_set_cursor_moves_to_the_next_slot() -> None:
    world = World("2026-11-30T12:00:30Z", job(cron_expression="*/5 * * * *"))
    await world.scheduler.tick()
    row = world.repository.row("report")
    row.next_run_at = datetime(2026, 11, 30, 12, 2, 17, tzinfo=UTC)
    world.clock.advance(120)
    await world.scheduler.tick()
    assert (world.queue.slots, row.next_run_at) == ([], datetime(2026, 11, 30, 12, 5, tzinfo=UTC))


async def test_a_cursor_moved_back_does_not_run_a_slot_again() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    await world.scheduler.tick()
    world.clock.advance(30)
    await world.scheduler.tick()
    world.repository.row("report").next_run_at = datetime(2026, 11, 30, 12, 1, tzinfo=UTC)
    await world.scheduler.tick()
    assert world.queue.slots == [("report", "2026-11-30T12:01Z")]


async def test_an_ended_job_rests() -> None:
    ends_at = datetime(2026, 11, 30, 12, 2, tzinfo=UTC)
    world = World("2026-11-30T12:00:30Z", job(ends_at=ends_at))
    for _ in range(10):
        await world.scheduler.tick()
        world.clock.advance(30)
    assert world.queue.slots == [("report", "2026-11-30T12:01Z"), ("report", "2026-11-30T12:02Z")]
    assert (await world.repository.look_ahead(None)).has_work is False


async def test_start_runs_until_stop_and_wakes_at_each_slot() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    import asyncio

    loop = asyncio.ensure_future(world.scheduler.start())
    await world.clock.run_for(200)
    world.scheduler.stop()
    await asyncio.wait_for(loop, 5)
    assert [slot for _, slot in world.queue.slots] == [
        "2026-11-30T12:01Z",
        "2026-11-30T12:02Z",
        "2026-11-30T12:03Z",
    ]
    assert world.repository.replicas[world.scheduler.replica_id].is_last
