"""One batch is delivered while the next is claimed: what overlaps, and what never does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from django_dyncron.core.claims import ClaimedBatch, ClaimOrder, Sweep, SweepOrder
from django_dyncron.core.courier import Courier
from django_dyncron.core.definitions import CronJobDefinition, Run
from django_dyncron.core.events import RunEnqueued, SlotsSkipped, TickResult
from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.core.runs import Attempt, Record
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.locks.memory import MemoryLockProvider
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer

JOBS = ("a", "b", "c", "d")
LOCK_OF = {job_id: f"dyncron:cron_lock:{job_id}:2026-11-30T12:01:00+00:00" for job_id in JOBS}


class Doors:
    """Doors by name: whoever comes to a closed one waits until it is opened."""

    def __init__(self) -> None:
        self._closed: dict[str, asyncio.Event] = {}

    def close(self, *names: str) -> None:
        self._closed |= {name: asyncio.Event() for name in names}

    def open(self, *names: str) -> None:
        for name in names:
            self._closed.pop(name).set()

    async def pass_through(self, name: str) -> None:
        if door := self._closed.get(name):
            await door.wait()


class Store(InMemoryRepository):
    """Logs its claims, numbered from 1; ``errors`` strike claims once their locks are taken."""

    def __init__(self, log: list[str], doors: Doors) -> None:
        super().__init__(checkpoint=self._reach)
        self.log = log
        self.doors = doors
        self.claims = 0
        self.under_way = 0
        self.carried: list[list[str]] = []
        self.errors: dict[int, Exception] = {}
        self.swept_beside_claim = False
        self.tasks: set[Any] = set()

    async def claim_due(self, order: ClaimOrder) -> ClaimedBatch:
        self.claims += 1
        self.under_way += 1
        self.log.append(f"claim {self.claims}")
        self.carried.append([record.run.job_id for record in order.records])
        self.tasks.add(asyncio.current_task())
        try:
            return await super().claim_due(order)
        finally:
            self.under_way -= 1

    async def sweep(self, order: SweepOrder) -> Sweep:
        self.log.append("sweep")
        self.swept_beside_claim |= self.under_way > 0
        return await super().sweep(order)

    async def _reach(self, label: str) -> None:
        if label == "lock":
            await self.doors.pass_through(f"claim {self.claims}")
            if error := self.errors.pop(self.claims, None):
                raise error


class Queue(RecordingEnqueuer):
    """Logs each delivery as it begins."""

    def __init__(self, log: list[str], doors: Doors) -> None:
        super().__init__()
        self.log = log
        self.doors = doors
        self.may_send: Callable[[], bool] = lambda: False

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        name = "deliver " + "".join(run.job_id for run in runs)
        self.log.append(name)
        self.may_send = may_send
        await self.doors.pass_through(name)
        return await super().enqueue_runs(runs, may_send)


class World:
    """Four jobs that are due at 12:01, claimed one by one."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock("2026-11-30T12:00:30Z")
        self.log: list[str] = []
        self.doors = Doors()
        self.store = Store(self.log, self.doors)
        self.store.clock = self.clock.now
        self.store.add(*(CronJobDefinition(name, "shop.report", "* * * * *") for name in JOBS))
        self.queue = Queue(self.log, self.doors)
        self.locks = MemoryLockProvider(monotonic=self.clock.monotonic)
        self.events: list[Any] = []
        self.scheduler = DynamicScheduler(
            self.store,
            self.queue,
            self.locks,
            clock=self.clock,
            observers=[self.events.append],
            **{"batch_size": 1, **options},
        )

    async def at_noon(self) -> None:
        """Plan the jobs, do all upkeep, and let the slot come 5 seconds later."""
        self.clock.advance(25)
        await self.scheduler.tick()
        self.clock.advance(5)
        self.log.clear()
        self.store.carried.clear()
        self.store.tasks.clear()
        self.store.claims = 0

    def begin(self) -> asyncio.Task[TickResult]:
        return asyncio.create_task(self.scheduler.tick())

    async def held(self) -> list[str]:
        """Return the jobs whose lock cannot be taken now."""
        free = await self.locks.acquire_locks(list(LOCK_OF.values()), 60)
        await self.locks.release_locks(sorted(free))
        return [job_id for job_id in JOBS if LOCK_OF[job_id] not in free]

    def statuses(self) -> dict[str, str]:
        return {stored.run.job_id: str(stored.status) for stored in self.store.runs.values()}


@pytest.fixture
async def world() -> World:
    world = World()
    await world.at_noon()
    return world


async def rest() -> None:
    """Let everything go as far as it can."""
    for _ in range(50):
        await asyncio.sleep(0)


# --- what overlaps --------------------------------------------------------------------------------


async def test_the_next_batch_is_claimed_while_one_is_delivered_and_no_more(world: World) -> None:
    world.doors.close("deliver a")
    tick = world.begin()
    await rest()
    assert world.log == ["claim 1", "deliver a", "claim 2"]
    assert world.statuses() == {"a": "claimed", "b": "claimed"}
    world.doors.open("deliver a")
    result = await tick
    assert (result.claimed, result.enqueued) == (4, 4)
    assert world.statuses() == dict.fromkeys(JOBS, "enqueued")


async def test_batches_are_delivered_one_after_the_other(world: World) -> None:
    world.doors.close("deliver a", "claim 2")
    tick = world.begin()
    await rest()
    world.doors.open("claim 2")
    await rest()
    assert "deliver b" not in world.log
    world.doors.open("deliver a")
    await tick
    delivered = [entry for entry in world.log if entry.startswith("deliver")]
    assert delivered == ["deliver a", "deliver b", "deliver c", "deliver d"]


async def test_a_batch_that_is_not_full_is_claimed_in_the_tick_itself() -> None:
    world = World(batch_size=5)
    await world.at_noon()
    await world.scheduler.tick()
    assert world.log == ["claim 1", "deliver abcd"]
    assert world.store.tasks == {asyncio.current_task()}


async def test_records_ride_in_the_claim_after_the_next_and_none_is_lost(world: World) -> None:
    await world.scheduler.tick()
    assert world.store.carried == [[], [], ["a"], ["b"], ["c"]]
    told = [event.run.job_id for event in world.events if isinstance(event, RunEnqueued)]
    assert told == ["a", "b", "c", "d"]
    assert world.statuses() == dict.fromkeys(JOBS, "enqueued")


async def test_records_entered_during_a_claim_outlive_its_commit(world: World) -> None:
    world.doors.close("claim 3")
    tick = world.begin()
    await rest()
    assert world.statuses() == {"a": "claimed", "b": "claimed"}
    assert world.store.carried[2] == ["a"]
    assert [run.job_id for run in world.queue.runs] == ["a", "b"]
    world.doors.open("claim 3")
    await tick
    assert world.store.carried[3] == ["b"]


async def test_skips_are_told_before_the_run_of_their_batch(world: World) -> None:
    world.clock.advance(180)
    await world.scheduler.tick()
    of_a = [
        type(event)
        for event in world.events
        if (isinstance(event, SlotsSkipped) and event.job_id == "a")
        or (isinstance(event, RunEnqueued) and event.run.job_id == "a")
    ]
    assert of_a == [SlotsSkipped, SlotsSkipped, SlotsSkipped, RunEnqueued]


# --- when nothing is claimed ahead ----------------------------------------------------------------


async def test_nothing_is_claimed_ahead_when_upkeep_is_due(world: World) -> None:
    world.doors.close("deliver a")
    tick = world.begin()
    await rest()
    world.clock.advance(6)
    world.doors.open("deliver a")
    await tick
    assert world.log == [
        *("claim 1", "deliver a", "claim 2"),
        *("deliver b", "sweep", "claim 3"),
        *("deliver c", "claim 4", "deliver d", "claim 5"),
    ]
    assert not world.store.swept_beside_claim


async def test_nothing_is_claimed_ahead_of_a_slow_queue(world: World) -> None:
    world.doors.close("deliver a", "deliver b", "deliver c")
    tick = world.begin()
    for name in ("deliver a", "deliver b"):
        await rest()
        world.clock.advance(10.5)
        world.doors.open(name)
    await rest()
    slow = ["claim 1", "deliver a", "claim 2", "deliver b", "sweep", "claim 3", "deliver c"]
    assert world.log == slow
    world.doors.open("deliver c")
    world.doors.close("deliver d")
    await rest()
    assert world.log == [*slow, "claim 4", "deliver d", "claim 5"]
    world.doors.open("deliver d")
    await tick


async def test_a_batch_may_be_sent_for_40_seconds_after_its_own_claim(world: World) -> None:
    world.doors.close("deliver a", "deliver b")
    tick = world.begin()
    await rest()
    world.clock.advance(8)
    world.doors.open("deliver a")
    await rest()
    assert world.log[-1] == "deliver b"
    world.clock.advance(31)
    assert world.queue.may_send()
    world.clock.advance(2)
    assert not world.queue.may_send()
    world.doors.open("deliver b")
    await tick


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [StoreUnavailable("away"), ZeroDivisionError("a bug")])
async def test_a_claim_that_fails_waits_for_the_delivery_beside_it(
    world: World, error: Exception
) -> None:
    world.doors.close("deliver a")
    world.store.errors[2] = error
    tick = world.begin()
    await rest()
    assert world.log[:3] == ["claim 1", "deliver a", "claim 2"]
    assert not tick.done()
    world.doors.open("deliver a")
    with pytest.raises(type(error)):
        await tick
    assert await world.held() == []
    assert world.statuses() == {"a": "claimed"}
    await world.scheduler.tick()
    assert world.store.carried[2] == ["a"]
    assert world.statuses() == dict.fromkeys(JOBS, "enqueued")
    assert [run.job_id for run in world.queue.runs] == ["a", "b", "c", "d"]


async def test_a_record_that_spoils_the_claim_beside_a_delivery_is_written_apart(
    world: World,
) -> None:
    written: list[list[str]] = []
    record = world.store.record

    async def noting(runs: Sequence[Record]) -> None:
        written.append([record.run.job_id for record in runs])
        await record(runs)

    world.store.record = noting  # type: ignore[method-assign]
    world.store.errors[3] = ValueError("such a value cannot be written")
    await world.scheduler.tick()
    assert written == [["a"], ["d"]]
    assert world.store.carried == [[], [], ["a"], [], ["b"], ["c"]]


@pytest.fixture
def _first_delivery_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing a queue does can make a delivery fail; a fault of ours may."""
    deliver, failures = Courier.deliver, [ZeroDivisionError("a fault of ours")]

    async def failing(courier: Courier, runs: Sequence[Run], claimed_at: float) -> list[Attempt]:
        if failures and runs:
            raise failures.pop()
        return await deliver(courier, runs, claimed_at)

    monkeypatch.setattr(Courier, "deliver", failing)


@pytest.mark.usefixtures("_first_delivery_fails")
async def test_a_delivery_that_fails_leaves_no_claimed_batch_behind(world: World) -> None:
    with pytest.raises(ZeroDivisionError):
        await world.scheduler.tick()
    assert world.log == ["claim 1", "claim 2", "deliver b"]
    assert [run.job_id for run in world.queue.runs] == ["b"]
    assert await world.held() == []
    await world.scheduler.tick()
    assert world.statuses() == {"a": "claimed", "b": "enqueued", "c": "enqueued", "d": "enqueued"}


@pytest.mark.usefixtures("_first_delivery_fails")
async def test_of_two_errors_neither_is_lost(world: World) -> None:
    world.store.errors[2] = StoreUnavailable("away")
    with pytest.raises(StoreUnavailable) as caught:
        await world.scheduler.tick()
    (note,) = caught.value.__notes__
    assert note.startswith("The delivery beside it failed, too: ZeroDivisionError(")
    assert await world.held() == []


# --- locks ----------------------------------------------------------------------------------------


async def test_locks_are_given_back_after_the_delivery_though_a_claim_is_under_way(
    world: World,
) -> None:
    world.doors.close("deliver a", "claim 2")
    tick = world.begin()
    await rest()
    assert await world.held() == ["a", "b"]
    world.doors.open("deliver a")
    await rest()
    assert await world.held() == ["b"]
    world.doors.open("claim 2")
    await tick
    assert await world.held() == []


async def test_a_claim_that_fails_gives_back_its_own_locks_only(world: World) -> None:
    world.doors.close("deliver a")
    world.store.errors[2] = StoreUnavailable("away")
    tick = world.begin()
    await rest()
    assert await world.held() == ["a"]
    world.doors.open("deliver a")
    with pytest.raises(StoreUnavailable):
        await tick
    assert await world.held() == []


# --- the end --------------------------------------------------------------------------------------


async def test_stop_while_two_batches_are_in_hand_delivers_both_and_claims_no_more(
    world: World,
) -> None:
    world.doors.close("deliver a", "claim 2")
    tick = world.begin()
    await rest()
    world.scheduler.stop()
    world.doors.open("deliver a", "claim 2")
    await tick
    assert world.log == ["claim 1", "deliver a", "claim 2", "deliver b"]
    assert world.statuses() == {"a": "enqueued", "b": "enqueued"}


async def test_stop_during_a_slow_delivery_claims_no_more(world: World) -> None:
    world.doors.close("deliver a")
    tick = world.begin()
    await rest()
    world.clock.advance(10.5)
    world.doors.close("deliver b")
    world.doors.open("deliver a")
    await rest()
    world.scheduler.stop()
    world.doors.open("deliver b")
    await tick
    # Nor is anything swept, although it is time.
    assert world.log == ["claim 1", "deliver a", "claim 2", "deliver b"]


async def test_cancelling_start_finishes_what_is_in_hand(world: World) -> None:
    world.doors.close("deliver a", "claim 2")
    loop = asyncio.create_task(world.scheduler.start())
    await rest()
    loop.cancel()
    await rest()
    world.doors.open("claim 2")
    await rest()
    loop.cancel()
    await rest()
    assert not loop.done()
    world.doors.open("deliver a")
    with pytest.raises(asyncio.CancelledError):
        await loop
    assert world.log == ["claim 1", "deliver a", "claim 2", "deliver b"]
    assert world.statuses() == {"a": "enqueued", "b": "enqueued"}
    assert await world.held() == []


async def test_a_tick_that_is_cancelled_leaves_nothing_running(world: World) -> None:
    world.doors.close("deliver a", "claim 2")
    tick = world.begin()
    await rest()
    tick.cancel()
    with pytest.raises(asyncio.CancelledError):
        await tick
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert await world.held() == []
