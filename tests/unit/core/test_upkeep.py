"""Signs of life while a queue takes its time, and what is no longer begun at the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from django_dyncron.core import upkeep
from django_dyncron.core.claims import Heartbeat, Sweep, SweepOrder
from django_dyncron.core.definitions import CronJobDefinition, Run
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer


class Store(InMemoryRepository):
    beats = 0
    sweeps = 0

    async def beat(self, heartbeat: Heartbeat) -> None:
        type(self).beats += 1
        await super().beat(heartbeat)

    async def sweep(self, order: SweepOrder) -> Sweep:
        type(self).sweeps += 1
        return await super().sweep(order)


class SlowQueue(RecordingEnqueuer):
    """Waits, before it takes a run, until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def enqueue_run(self, run: Run) -> str:
        self.has_begun.set()
        await self.may_go_on.wait()
        return await super().enqueue_run(run)


class World:
    def __init__(self) -> None:
        Store.beats = Store.sweeps = 0
        self.clock = FakeClock("2026-11-30T12:00:30Z")
        self.store = Store(clock=self.clock.now)
        self.queue = SlowQueue()
        self.store.add(CronJobDefinition("a", "shop.tasks.report", "* * * * *"))
        self.scheduler = DynamicScheduler(self.store, self.queue, clock=self.clock)

    async def begin_a_slow_delivery(self) -> asyncio.Task[Any]:
        await self.scheduler.tick()
        self.clock.advance(30)
        tick = asyncio.ensure_future(self.scheduler.tick())
        await self.queue.has_begun.wait()
        return tick


async def test_a_slow_delivery_leaves_time_for_signs_of_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upkeep, "BEAT_SECONDS", 0.01)
    world = World()
    tick = await world.begin_a_slow_delivery()
    before = Store.beats
    world.clock.advance(15)
    await asyncio.sleep(0.2)
    assert Store.beats == before + 1
    assert not tick.done()
    world.queue.may_go_on.set()
    assert (await tick).enqueued == 1


async def test_nothing_is_swept_after_the_last_delivery() -> None:
    world = World()
    tick = await world.begin_a_slow_delivery()
    sweeps = Store.sweeps
    # A sweep is due by now, but it would hand over runs of its own.
    world.clock.advance(15)
    world.scheduler.stop()
    world.queue.may_go_on.set()
    assert (await tick).enqueued == 1
    assert Store.sweeps == sweeps
