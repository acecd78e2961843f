"""Signs of life: between ticks, during long ones, and none while ticks fail."""

from __future__ import annotations

import asyncio
from typing import Any

from django_dyncron.core.claims import ClaimedBatch, ClaimOrder, Heartbeat
from django_dyncron.core.definitions import CronJobDefinition
from django_dyncron.core.events import SignOfLife, TickFailed, TickResult
from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import (
    FakeClock,
    InMemoryRepository,
    ListRepository,
    RecordingEnqueuer,
)

NOON = "2026-11-30T12:00:00Z"


class Store(InMemoryRepository):
    """Fails to claim for as long as it is told to; notes when it was given signs of life."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock.now)
        self.fails = False
        self.claim_seconds = 0.0
        self.beats: list[str] = []
        self._clock = clock

    async def claim_due(self, order: ClaimOrder) -> ClaimedBatch:
        if self.fails:
            raise StoreUnavailable("the table is locked")
        self._clock.advance(self.claim_seconds)
        return await super().claim_due(order)

    async def beat(self, heartbeat: Heartbeat) -> None:
        if heartbeat.is_well:
            self.beats.append(f"{heartbeat.at:%H:%M:%S}")
        await super().beat(heartbeat)


class World:
    def __init__(self, interval: float = 30, **options: Any) -> None:
        self.clock = FakeClock(NOON)
        self.store = Store(self.clock)
        self.events: list[Any] = []
        self.scheduler = DynamicScheduler(
            self.store,
            RecordingEnqueuer(),
            None,
            interval,
            clock=self.clock,
            replica_id="web-1",
            observers=[self.events.append],
            **options,
        )

    async def run_for(self, seconds: float) -> None:
        loop = asyncio.ensure_future(self.scheduler.start())
        await self.clock.run_for(seconds)
        self.scheduler.stop()
        await loop

    def told(self, kind: type) -> list[str]:
        return [f"{event.at:%H:%M:%S}" for event in self.events if isinstance(event, kind)]


async def test_a_replica_that_waits_for_long_gives_signs_of_life_without_ticking() -> None:
    world = World(interval=50)
    await world.run_for(60)
    assert world.told(TickResult) == ["12:00:00", "12:00:50"]
    told = ["12:00:00", "12:00:15", "12:00:30", "12:00:45", "12:01:00"]
    assert world.told(SignOfLife) == told
    assert world.store.beats == [*told, "12:01:00"]  # the last word


async def test_each_sign_of_life_says_since_when_this_process_gives_them() -> None:
    world = World()
    world.store.add(CronJobDefinition("a", "shop.tasks.report", "* * * * *"))
    world.store.fails = True
    loop = asyncio.ensure_future(world.scheduler.start())
    await world.clock.run_for(60)
    world.store.fails = False
    await world.clock.run_for(60)
    (first, *_) = world.store.beats
    assert first >= "12:01:00"
    assert f"{world.store.replicas['web-1'].since:%H:%M:%S}" == first
    world.scheduler.stop()
    await loop
    assert f"{world.store.replicas['web-1'].since:%H:%M:%S}" == first


async def test_ticks_that_come_often_enough_are_all_it_takes() -> None:
    world = World(interval=10)
    await world.run_for(31)
    assert world.told(SignOfLife) == ["12:00:00", "12:00:15", "12:00:30"]
    assert world.told(TickResult) == ["12:00:00", "12:00:10", "12:00:20", "12:00:30"]


async def test_while_every_tick_fails_nobody_takes_the_replica_for_alive() -> None:
    world = World()
    world.store.add(CronJobDefinition("a", "shop.tasks.report", "* * * * *"))
    world.store.fails = True
    loop = asyncio.ensure_future(world.scheduler.start())
    await world.clock.run_for(200)
    assert any(isinstance(event, TickFailed) for event in world.events)
    assert (world.store.beats, world.store.replicas) == ([], {})

    world.store.fails = False
    await world.clock.run_for(31)
    assert world.store.replicas["web-1"].is_well
    first = world.told(TickResult)[0]
    assert world.store.beats[0] == first

    world.store.fails = True
    await world.clock.run_for(60)
    beats = len(world.store.beats)
    await world.clock.run_for(120)
    assert len(world.store.beats) == beats
    world.scheduler.stop()
    await loop
    assert world.store.replicas["web-1"].is_last


async def test_a_long_backlog_is_a_sign_of_life_before_the_tick_has_ended() -> None:
    world = World(batch_size=1)
    for name in "abcd":
        world.store.add(CronJobDefinition(name, "shop.tasks.report", "0 6 * * *"))
    world.store.claim_seconds = 10.0
    await world.scheduler.tick()
    assert world.told(SignOfLife) == ["12:00:20", "12:00:40"]
    assert world.told(TickResult) == ["12:00:50"]


async def test_the_pulse_tells_a_tick_from_the_next_and_how_far_it_is() -> None:
    world = World(batch_size=1)
    pulse = world.scheduler.pulse
    assert (pulse.tick, pulse.steps) == (None, 0)
    loop = asyncio.ensure_future(world.scheduler.start())
    await world.clock.run_for(0)
    first, steps = pulse.tick, pulse.steps
    assert first is not None
    assert first.done()
    world.store.add(CronJobDefinition("a", "shop.tasks.report", "* * * * *"))
    world.store.add(CronJobDefinition("b", "shop.tasks.report", "* * * * *"))
    await world.clock.run_for(30)
    assert pulse.tick is not first
    assert pulse.steps >= steps + 2
    world.scheduler.stop()
    await loop
    assert pulse.tick is None


async def test_a_store_of_two_methods_gives_signs_of_life_to_observers() -> None:
    clock = FakeClock(NOON)
    events: list[Any] = []
    store = ListRepository([CronJobDefinition("a", "shop.tasks.report", "0 6 * * *")])
    scheduler = DynamicScheduler(
        store, RecordingEnqueuer(), None, 50, clock=clock, observers=[events.append]
    )
    loop = asyncio.ensure_future(scheduler.start())
    await clock.run_for(40)
    scheduler.stop()
    await loop
    signs = [f"{event.at:%H:%M:%S}" for event in events if isinstance(event, SignOfLife)]
    assert signs == ["12:00:00", "12:00:15", "12:00:30"]
