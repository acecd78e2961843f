"""A scheduler around pauses of everything: what it claims, what it asks the store, and when."""

from __future__ import annotations

from datetime import datetime

from django_dyncron.core.definitions import CronJobDefinition
from django_dyncron.core.pauses import PausedSpan
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.core.watch import PauseWatch
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer


def job(job_id: str = "report", **more: str) -> CronJobDefinition:
    return CronJobDefinition(job_id, "shop.report", "* * * * *", **more)  # type: ignore[arg-type]


class Counting(InMemoryRepository):
    """Counts how often it is asked for pauses."""

    asked = 0

    async def pauses(self, at: datetime) -> list[PausedSpan]:
        self.asked += 1
        return list(await super().pauses(at))


class World:
    def __init__(self, start: str, **options: object) -> None:
        self.clock = FakeClock(start)
        self.store = Counting(clock=self.clock.now)
        self.queue = RecordingEnqueuer()
        self.scheduler = DynamicScheduler(
            self.store,
            self.queue,
            clock=self.clock,
            **options,  # type: ignore[arg-type]
        )

    async def tick_after(self, seconds: float) -> list[str]:
        self.clock.advance(seconds)
        before = len(self.queue.slots)
        await self.scheduler.tick()
        return [slot[11:16] for _, slot in self.queue.slots[before:]]

    def skipped(self) -> list[str]:
        return [
            f"{stored.run.scheduled_for:%H:%M} {stored.reason}"
            for stored in self.store.runs.values()
            if stored.status == "skipped"
        ]


async def test_nothing_is_claimed_while_everything_is_paused() -> None:
    world = World("2026-11-30T12:00:30Z")
    world.store.add(job())
    assert await world.tick_after(0) == []
    assert await world.tick_after(30) == ["12:01"]
    world.store.pause_all()
    assert await world.tick_after(60) == []
    assert await world.tick_after(60) == []
    world.store.resume_all()
    assert await world.tick_after(59) == []
    assert await world.tick_after(1) == ["12:04"]
    assert world.skipped() == ["12:02 paused", "12:03 paused"]


async def test_a_pause_that_nobody_was_there_to_see_is_heeded_all_the_same() -> None:
    world = World("2026-11-30T12:00:30Z")
    world.store.add(job(misfire_policy="fire_all"))
    await world.tick_after(0)
    world.clock.advance(60)
    world.store.pause_all()
    world.clock.advance(120)
    world.store.resume_all()
    assert await world.tick_after(60) == ["12:01", "12:04"]
    assert world.skipped() == ["12:02 paused", "12:03 paused"]


async def test_a_job_edited_during_a_pause_counts_from_its_edit() -> None:
    world = World("2026-11-30T12:00:30Z")
    world.store.add(job())
    await world.tick_after(0)
    world.store.pause_all()
    world.clock.advance(15)
    world.store.edit("report", cron_expression="*/2 * * * *")
    assert await world.tick_after(15) == []
    world.store.resume_all()
    assert await world.tick_after(60) == ["12:02"]
    assert world.skipped() == []


async def test_an_idle_tick_does_not_ask_for_pauses() -> None:
    world = World("2026-11-30T12:00:30Z")
    world.store.add(job())
    await world.tick_after(0)
    asked = world.store.asked
    await world.tick_after(5)
    assert world.store.asked == asked
    await world.tick_after(25)
    assert world.store.asked == asked + 1


async def test_a_tick_of_many_batches_asks_once() -> None:
    world = World("2026-11-30T12:00:30Z", batch_size=2)
    world.store.add(*(job(f"job-{number}") for number in range(9)))
    await world.tick_after(0)
    asked = world.store.asked
    assert len(await world.tick_after(30)) == 9
    assert world.store.asked == asked + 1


async def test_what_was_read_holds_for_a_second_and_never_into_the_next_minute() -> None:
    clock = FakeClock("2026-11-30T12:00:30Z")
    store = Counting(clock=clock.now)
    watch = PauseWatch(store, clock)
    assert await watch.pauses(clock.now()) == []
    store.pause_all()
    clock.advance(0.9)
    assert await watch.pauses(clock.now()) == []
    clock.advance(0.1)
    assert await watch.pauses(clock.now()) == store.paused
    clock.advance(28.5)
    assert len(await watch.pauses(clock.now())) == 1
    store.resume_all()
    clock.advance(0.6)
    assert await watch.pauses(clock.now()) == []
    assert store.asked == 4
