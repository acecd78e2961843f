"""The loop around the tick: waiting, stopping, failing and being cancelled."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from django_dyncron.core.claims import Horizon
from django_dyncron.core.definitions import CronJobDefinition, Run
from django_dyncron.core.events import SchedulerStopped, TickFailed, TickResult
from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer


def store(clock: FakeClock, *expressions: str) -> InMemoryRepository:
    repository = InMemoryRepository(clock=clock.now)
    for number, expression in enumerate(expressions):
        repository.add(CronJobDefinition(f"job-{number}", "shop.tasks.report", expression))
    return repository


async def test_stop_before_start_returns_at_once() -> None:
    clock = FakeClock("2026-11-30T12:00:30Z")
    queue = RecordingEnqueuer()
    scheduler = DynamicScheduler(store(clock, "* * * * *"), queue, clock=clock)
    scheduler.stop()
    scheduler.stop()
    await asyncio.wait_for(scheduler.start(), 5)
    assert queue.runs == []


async def test_stop_from_another_thread_wakes_the_loop() -> None:
    scheduler = DynamicScheduler(InMemoryRepository(), RecordingEnqueuer(), None, 3600)
    loop = asyncio.ensure_future(scheduler.start())
    await asyncio.sleep(0.05)
    threading.Thread(target=scheduler.stop).start()
    await asyncio.wait_for(loop, 5)


async def test_a_due_run_does_not_wait_for_the_tick_interval() -> None:
    clock = FakeClock("2026-11-30T12:00:30Z")
    events: list[Any] = []
    queue = RecordingEnqueuer()
    scheduler = DynamicScheduler(
        store(clock, "*/2 * * * *"), queue, None, 1800, clock=clock, observers=[events.append]
    )
    loop = asyncio.ensure_future(scheduler.start())
    await clock.run_for(300)
    scheduler.stop()
    await loop
    enqueued_at = [f"{run.created_at:%H:%M:%S}" for run in queue.runs]
    assert enqueued_at == ["12:02:00", "12:04:00"]
    ticks = [event for event in events if isinstance(event, TickResult)]
    assert len(ticks) == 3


async def test_errors_back_off_and_the_loop_carries_on() -> None:
    clock = FakeClock("2026-11-30T12:00:30Z")
    events: list[Any] = []

    class ComesBack(InMemoryRepository):
        async def look_ahead(self, at: Any) -> Horizon:
            if clock.now().minute < 3:
                raise StoreUnavailable("the database is away")
            return await super().look_ahead(at)

    repository = ComesBack(clock=clock.now)
    repository.add(CronJobDefinition("job", "shop.tasks.report", "* * * * *"))
    queue = RecordingEnqueuer()
    scheduler = DynamicScheduler(repository, queue, clock=clock, observers=[events.append])
    loop = asyncio.ensure_future(scheduler.start())
    await clock.run_for(300)
    scheduler.stop()
    await loop
    pauses = [e.retry_in.total_seconds() for e in events if isinstance(e, TickFailed)]
    assert 8 <= len(pauses) <= 20
    for pause, longest in zip(pauses, [1, 2, 4, 8, 16, 30, 30, 30], strict=False):
        assert longest / 2 <= pause <= longest
    assert queue.slots[-1] == ("job", "2026-11-30T12:05Z")


async def test_an_error_of_any_kind_does_not_end_the_loop() -> None:
    clock = FakeClock("2026-11-30T12:00:30Z")

    class Bug(InMemoryRepository):
        failures = 0

        async def claim_due(self, order: Any) -> Any:
            if self.failures < 2:
                self.failures += 1
                raise ZeroDivisionError
            return await super().claim_due(order)

    repository = Bug(clock=clock.now)
    repository.add(CronJobDefinition("job", "shop.tasks.report", "* * * * *"))
    queue = RecordingEnqueuer()
    scheduler = DynamicScheduler(repository, queue, clock=clock)
    loop = asyncio.ensure_future(scheduler.start())
    await clock.run_for(60)
    scheduler.stop()
    await loop
    assert queue.slots == [("job", "2026-11-30T12:01Z")]


class SlowQueue(RecordingEnqueuer):
    """Takes a while for each task, and says when it begins."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def enqueue_run(self, run: Run) -> str:
        self.has_begun.set()
        await self.goes_on.wait()
        return await super().enqueue_run(run)


async def test_cancelling_start_takes_effect_after_the_batches_in_hand() -> None:
    clock = FakeClock("2026-11-30T12:00:30Z")
    repository, queue = store(clock, *["* * * * *"] * 9), SlowQueue()
    scheduler = DynamicScheduler(repository, queue, clock=clock, batch_size=3)
    loop = asyncio.ensure_future(scheduler.start())
    await clock.run_for(30)
    await queue.has_begun.wait()
    loop.cancel()
    await asyncio.sleep(0.01)
    loop.cancel()
    queue.goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await loop
    statuses = [stored.status for stored in repository.runs.values()]
    assert statuses == ["enqueued"] * 6
    assert len(queue.runs) == 6


async def test_stop_during_a_long_tick_leaves_the_other_batches() -> None:
    clock = FakeClock("2026-11-30T12:00:30Z")
    repository, queue = store(clock, *["* * * * *"] * 6), SlowQueue()
    events: list[Any] = []
    scheduler = DynamicScheduler(
        repository, queue, clock=clock, batch_size=2, observers=[events.append]
    )
    loop = asyncio.ensure_future(scheduler.start())
    await clock.run_for(30)
    await queue.has_begun.wait()
    scheduler.stop()
    queue.goes_on.set()
    await loop
    assert len(queue.runs) == 4
    assert events[-1] == SchedulerStopped(scheduler.replica_id, 0)


async def test_nobody_spins_while_another_replica_holds_the_rows() -> None:
    clock = FakeClock("2026-11-30T12:00:30Z")
    repository = store(clock, "* * * * *")
    events: list[Any] = []
    scheduler = DynamicScheduler(
        repository, RecordingEnqueuer(), clock=clock, observers=[events.append]
    )
    await scheduler.tick()
    repository._tables.locked.add(1)
    loop = asyncio.ensure_future(scheduler.start())
    await clock.run_for(31)
    scheduler.stop()
    await loop
    ticks = [event for event in events if isinstance(event, TickResult)]
    assert 5 <= len(ticks) <= 15


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tick_interval_seconds": 0}, "tick_interval_seconds must be above 0, not 0."),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0."),
        (
            {"lock_ttl_seconds": 59},
            "lock_ttl_seconds must be at least 60 with a tick of 30 s, not 59.",
        ),
        (
            {"tick_interval_seconds": 45, "lock_ttl_seconds": 60},
            "lock_ttl_seconds must be at least 90 with a tick of 45 s, not 60.",
        ),
        ({"on_lock_error": "wait"}, "on_lock_error must be 'skip' or 'claim', not 'wait'."),
    ],
)
def test_numbers_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        DynamicScheduler(InMemoryRepository(), RecordingEnqueuer(), **options)
