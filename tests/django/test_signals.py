"""Which signals are sent, when, with what, and that they neither cost nor harm anything."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.test import override_settings

from django_dyncron import CronJobDefinition, CurrentRun, RunNotStarted, signals
from django_dyncron.core.claims import Heartbeat, SweepOrder
from django_dyncron.core.definitions import Run
from django_dyncron.core.events import RunEnqueued, SignOfLife, TickResult
from django_dyncron.core.exceptions import EnqueueError, EnqueueNotSent, EnqueueRefused
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from django_dyncron.models import CronJob, CronRun
from django_dyncron.once import runs_once
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.signal_sending import send_signals
from django_dyncron.signals import DyncronSignal
from django_dyncron.testing import FakeClock, InMemoryRepository, ListRepository, RecordingEnqueuer
from django_dyncron.wiring import open_scheduler
from django_dyncron.worker import Work
from tests.shop import tasks as shop

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOON = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)
RUN = CurrentRun(UUID(int=7), "morning", datetime(2026, 11, 1, 5, 30, tzinfo=UTC))
ALL = {name: getattr(signals, name) for name in signals.__all__}


class Ear:
    """Receives every signal; keeps its name, its arguments and the thread it came in."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.threads: set[int] = set()
        self.receivers = {name: self._receiver(name) for name in ALL}

    def _receiver(self, name: str) -> Callable[..., None]:
        def receive(signal: DyncronSignal, sender: None, **arguments: Any) -> None:
            assert signal is ALL[name]
            self.threads.add(threading.get_ident())
            self.heard.append((name, arguments))

        return receive

    def names(self) -> list[str]:
        return [name for name, _ in self.heard]

    def of(self, name: str) -> list[dict[str, Any]]:
        return [arguments for heard, arguments in self.heard if heard == name]


@pytest.fixture
def ear() -> Iterator[Ear]:
    ear = Ear()
    for name, receiver in ear.receivers.items():
        ALL[name].connect(receiver)
    yield ear
    for name, receiver in ear.receivers.items():
        ALL[name].disconnect(receiver)


class World:
    """A scheduler on a store in memory, at noon."""

    def __init__(self, *jobs: CronJobDefinition, queue: Any = None, **options: Any) -> None:
        self.clock = FakeClock(NOON)
        self.store = InMemoryRepository(self.clock.now)
        self.store.add(*jobs)
        self.queue = queue or RecordingEnqueuer()
        self.scheduler = DynamicScheduler(
            self.store, self.queue, clock=self.clock, observers=[send_signals], **options
        )

    async def go(self, *seconds: float) -> None:
        """Tick now, and after each of these pauses."""
        for pause in (0, *seconds):
            self.clock.advance(pause)
            await self.scheduler.tick()


def job(job_id: str = "report", **values: Any) -> CronJobDefinition:
    expression = values.pop("cron_expression", "* * * * *")
    return CronJobDefinition(job_id, f"shop.{job_id}", expression, **values)


# --- a scheduler's --------------------------------------------------------------------------------


async def test_a_run_that_was_enqueued(ear: Ear) -> None:
    world = World(job(queue="reports"))
    await world.go(31)
    (run,) = world.queue.runs
    slot = datetime(2026, 11, 30, 12, 1, tzinfo=UTC)
    assert ear.names() == ["tick_done", "run_enqueued", "tick_done"]
    (told,) = ear.of("run_enqueued")
    assert told == {
        "run": run,
        "at": slot + timedelta(seconds=1),
        "task_id": str(run.run_id),
        "lateness": timedelta(seconds=1),
    }
    assert (run.job_id, run.queue, run.scheduled_for, run.due_at) == (
        "report",
        "reports",
        slot,
        slot,
    )
    result = ear.of("tick_done")[1]["result"]
    assert isinstance(result, TickResult)
    assert (result.enqueued, result.at) == (1, slot + timedelta(seconds=1))
    assert ear.threads == {threading.get_ident()}


@pytest.mark.parametrize(
    "seconds, settings, is_late",
    [(90, {}, False), (91, {}, True), (36, {"LATE_AFTER_SECONDS": 5}, True)],
)
async def test_a_run_that_was_late(
    seconds: int, settings: dict[str, Any], is_late: bool, ear: Ear
) -> None:
    # Once an hour, so that the slot at 12:01 stays the latest one.
    world = World(job(cron_expression="1 * * * *"))
    with override_settings(DYNCRON=settings):
        await world.go(seconds)
    assert ear.names().count("run_enqueued") == 1
    expected = {
        "run": world.queue.runs[0],
        "at": NOON + timedelta(seconds=seconds),
        "lateness": timedelta(seconds=seconds - 30),
    }
    assert ear.of("run_late") == ([expected] if is_late else [])


async def test_waiting_for_its_jitter_makes_no_run_late(ear: Ear) -> None:
    world = World(job(cron_expression="1 * * * *", jitter_seconds=3000))
    await world.go(30)
    (stored,) = world.store.runs.values()
    assert stored.run.due_at is not None
    wait = (stored.run.due_at - world.clock.now()).total_seconds()
    assert wait > 60, "the test needs a jitter that would be a lateness"
    await world.go(wait + 1)
    (told,) = ear.of("run_enqueued")
    assert told["lateness"] == timedelta(seconds=1)
    assert ear.of("run_late") == []


async def test_a_jittered_run_that_comes_later_than_its_jitter_is_late(ear: Ear) -> None:
    world = World(job(cron_expression="1 * * * *", jitter_seconds=3000))
    await world.go(30)
    (stored,) = world.store.runs.values()
    assert stored.run.due_at is not None
    wait = (stored.run.due_at - world.clock.now()).total_seconds()
    await world.go(wait + 61)
    assert [told["lateness"] for told in ear.of("run_late")] == [timedelta(seconds=61)]


async def test_a_run_that_could_not_be_handed_over_at_first(ear: Ear) -> None:
    queue = RecordingEnqueuer({"shop.report": [EnqueueNotSent("no route")] * 2})
    world = World(job(cron_expression="1 * * * *"), queue=queue)
    await world.go(30, 30, 120)
    assert [told["error"] for told in ear.of("delivery_failed")] == ["no route"] * 2
    assert all(told["retry_at"] is not None for told in ear.of("delivery_failed"))
    assert [told["run"].attempts for told in ear.of("delivery_failed")] == [1, 2]
    assert [told["lateness"] for told in ear.of("run_late")] == [timedelta(seconds=150)]
    assert ear.of("run_failed") == []


@pytest.mark.parametrize(
    "error, delivery, status",
    [
        (EnqueueRefused("no such task"), "at_least_once", "failed"),
        (EnqueueError("timed out"), "at_most_once", "unknown"),
    ],
)
async def test_a_run_that_could_not_be_handed_over_at_all(
    error: Exception, delivery: str, status: str, ear: Ear
) -> None:
    queue = RecordingEnqueuer({"shop.report": [error]})
    world = World(job(delivery=delivery), queue=queue)
    await world.go(30)
    (told,) = ear.of("run_failed")
    (stored,) = world.store.runs.values()
    assert told == {"run": CurrentRun.of(stored.run), "error": str(error), "status": status}
    assert ear.of("delivery_failed") == []


async def test_a_store_of_two_methods_tells_the_same(ear: Ear) -> None:
    clock = FakeClock(NOON)
    errors = {"shop.odd": [EnqueueError("timed out")], "shop.bad": [EnqueueRefused("no")]}
    jobs = [job(), job("odd", delivery="at_most_once"), job("bad"), job("x", cron_expression="?")]
    scheduler = DynamicScheduler(
        ListRepository(jobs), RecordingEnqueuer(errors), clock=clock, observers=[send_signals]
    )
    await scheduler.tick()
    clock.advance(31)
    await scheduler.tick()
    enqueued = [told for told in ear.of("run_enqueued") if told["run"].job_id == "report"]
    # It looks at the minute in which it is started, too.
    assert [told["lateness"].total_seconds() for told in enqueued] == [30, 1]
    assert [(told["run"].job_id, told["status"]) for told in ear.of("run_failed")] == [
        ("odd", "unknown"),
        ("bad", "failed"),
    ]
    assert {told["job_id"] for told in ear.of("job_broken")} == {"x"}


async def test_what_is_skipped_and_what_is_broken(ear: Ear) -> None:
    world = World(job(), job("broken", cron_expression="61 * * * *"))
    await world.go(3 * 60 + 30)
    (told,) = ear.of("job_broken")
    assert told["job_id"] == "broken"
    assert "61" in told["error"]
    skips = [(told["job_id"], told["reason"], told["count"]) for told in ear.of("slots_skipped")]
    assert skips == [("report", "misfire", 1)] * 3
    first = ear.of("slots_skipped")[0]
    assert first["first"] == first["last"] == datetime(2026, 11, 30, 12, 1, tzinfo=UTC)


async def test_a_run_whose_process_died(ear: Ear) -> None:
    world = World(job(cron_expression="1 * * * *"))
    await world.go(30)
    (stored,) = world.store.runs.values()
    stored.status, stored.lease_until = "running", NOON
    await world.go(30)
    assert ear.of("run_lost") == [{"run": CurrentRun.of(stored.run)}]


async def test_a_run_by_hand_of_a_job_that_was_deleted(ear: Ear) -> None:
    world = World(job(cron_expression="1 * * * *"))
    await world.go(30)
    (stored,) = world.store.runs.values()
    asked = replace(stored.run, run_id=UUID(int=3), scheduled_for=None, kind="manual", attempts=0)
    asked = replace(asked, job_id="gone", created_at=NOON)
    row = replace(stored, run=asked, status="claimed", enqueued_at=None, lease_until=NOON)
    world.store.runs[asked.run_id] = row
    await world.go(30)
    assert ear.of("slots_skipped") == [
        {"job_id": "gone", "reason": "deleted", "first": NOON, "last": NOON, "count": 1}
    ]


async def test_a_store_of_two_methods_gives_up_with_a_word(ear: Ear) -> None:
    """Its lock is all that tells of a slot: when that may have ended, nobody tries again."""
    clock = FakeClock(NOON)
    queue = RecordingEnqueuer({"shop.report": [EnqueueNotSent("no route")] * 99})
    jobs = [job(cron_expression="1 12 * * *")]
    scheduler = DynamicScheduler(
        ListRepository(jobs), queue, clock=clock, lock_ttl_seconds=90, observers=[send_signals]
    )
    for _ in range(6):
        await scheduler.tick()
        clock.advance(30)
    # 12:01:00, 12:01:30, 12:02:00; at 12:02:30 its lock has lived for 90 seconds.
    assert len(ear.of("delivery_failed")) == 3
    slot = datetime(2026, 11, 30, 12, 1, tzinfo=UTC)
    (told,) = ear.of("run_failed")
    assert (told["run"].scheduled_for, told["status"]) == (slot, "failed")
    assert told["error"] == "no route"


async def test_trouble_beside_the_runs(ear: Ear) -> None:
    class Troubled(InMemoryRepository):
        async def beat(self, heartbeat: Heartbeat) -> None:
            raise LookupError("no replica table")

        async def look_ahead(self, at: datetime | None) -> Any:
            if at is None or at > NOON:
                raise ZeroDivisionError
            return await super().look_ahead(at)

    clock = FakeClock(NOON)
    scheduler = DynamicScheduler(
        Troubled(clock.now), RecordingEnqueuer(), clock=clock, observers=[send_signals]
    )
    running = asyncio.ensure_future(scheduler.start(max_ticks=2))
    await clock.run_for(60)
    await running
    assert ear.names()[:2] == ["step_failed", "tick_done"]
    assert {told["step"] for told in ear.of("step_failed")} == {
        "the heartbeat",
        "the last heartbeat",
    }
    (told,) = ear.of("tick_failed")
    assert isinstance(told["error"], ZeroDivisionError)
    assert timedelta(seconds=0.5) <= told["retry_in"] <= timedelta(seconds=1)


# --- nobody is harmed, nothing is spent -----------------------------------------------------------


async def test_a_receiver_that_raises_harms_nobody(
    ear: Ear, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("no paper")

    signals.run_enqueued.connect(fail)
    try:
        world = World(job(), job("second"))
        await world.go(31)
    finally:
        signals.run_enqueued.disconnect(fail)
    assert ear.names().count("run_enqueued") == 2
    assert [run.job_id for run in world.queue.runs] == ["report", "second"]
    records = [record for record in caplog.records if record.name == "django.dispatch"]
    assert len(records) == 2
    assert "no paper" in caplog.text
    assert records[0].levelno == logging.ERROR


async def test_a_receiver_that_looks_at_something_cancelled_stops_no_scheduler(ear: Ear) -> None:
    def fail(**_: Any) -> None:
        raise asyncio.CancelledError

    signals.tick_done.connect(fail)
    try:
        world = World(job())
        running = asyncio.ensure_future(world.scheduler.start(max_ticks=3))
        await world.clock.run_for(120)
        await running
    finally:
        signals.tick_done.disconnect(fail)
    assert ear.names().count("run_enqueued") >= 1


def test_a_coroutine_function_is_refused() -> None:
    async def receive(**_: Any) -> None: ...

    for signal in ALL.values():
        with pytest.raises(TypeError, match="receive is a coroutine function"):
            signal.connect(receive)
        assert not signal.has_listeners()


def test_nothing_is_worked_out_that_nobody_hears() -> None:
    class Untouchable:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"somebody looked at {name}")

    assert not any(signal.has_listeners() for signal in ALL.values())
    untouchable: Any = Untouchable()
    send_signals(RunEnqueued(untouchable, NOON))
    send_signals(SignOfLife(NOON))


def test_each_signal_is_in_the_reference() -> None:
    text = (DOCS / "reference" / "signals.rst").read_text()
    assert len(ALL) == 13
    assert [name for name in ALL if f"``{name}``" not in text] == []


# --- a worker's -----------------------------------------------------------------------------------


@pytest.fixture
def row(transactional_db: None) -> CronRun:
    """A run that its queue has, and no worker yet."""
    values = {"job_id": "morning", "task_name": "shop.report"}
    CronJob.objects.create(cron_expression="30 5 * * *", **values)
    return CronRun.objects.create(
        id=RUN.run_id, scheduled_for=RUN.scheduled_for, status="enqueued", attempts=1, **values
    )


def test_a_run_in_a_worker(row: CronRun, ear: Ear) -> None:
    seen: list[str] = []

    def look(**_: Any) -> None:
        seen.append(CronRun.objects.get().status)

    signals.run_started.connect(look)
    signals.run_succeeded.connect(look)
    with Work(RUN):
        pass
    assert ear.heard == [("run_started", {"run": RUN}), ("run_succeeded", {"run": RUN})]
    # After the store was told, and where the ORM may be used.
    assert seen == ["running", "succeeded"]


def test_a_run_that_fails_in_a_worker(row: CronRun, ear: Ear) -> None:
    with pytest.raises(RuntimeError), Work(RUN):
        raise RuntimeError("no\npaper")
    failed = {"run": RUN, "error": "RuntimeError: no paper", "status": "failed"}
    assert ear.heard == [("run_started", {"run": RUN}), ("run_failed", failed)]


async def test_a_coroutine_in_a_worker(row: CronRun, ear: Ear) -> None:
    seen: list[str] = []

    def look(**_: Any) -> None:
        seen.append(CronRun.objects.get().status)

    signals.run_started.connect(look)
    signals.run_failed.connect(look)
    with pytest.raises(RuntimeError):
        async with Work(RUN):
            raise RuntimeError("no paper")
    async with Work(RUN):
        pass
    assert ear.names() == ["run_started", "run_failed", "run_succeeded"]
    assert seen == ["running", "failed"]


def test_an_attempt_that_is_repeated_is_one_start_and_one_end(row: CronRun, ear: Ear) -> None:
    for error in ("jam", "jam", ""):
        work = Work(RUN)
        work.begin()
        work.end_attempt(error) if error else work.end()
    assert ear.names() == ["run_started", "run_succeeded"]


def test_a_second_delivery_that_is_not_let_in_is_silent(row: CronRun, ear: Ear) -> None:
    note = runs_once(lambda: None)
    for _ in range(2):
        with Work(RUN):
            note()
    assert ear.names() == ["run_started", "run_succeeded"]


@pytest.mark.usefixtures("_store_away")
def test_signals_are_sent_although_the_store_is_away(ear: Ear) -> None:
    with Work(RUN):
        pass
    assert ear.names() == ["run_started", "run_succeeded"]


@pytest.mark.usefixtures("_store_away")
def test_what_could_not_start_does_not_end(ear: Ear) -> None:
    with pytest.raises(RunNotStarted), Work(RUN):
        runs_once(lambda: None)()
    assert ear.names() == ["run_started"]


# --- real rows ------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_local_runs_are_told_from_beginning_to_end(ear: Ear) -> None:
    old = datetime.now(UTC) - timedelta(hours=2)
    values = {"plan_from": old, "misfire_policy": "fire_once"}
    for name in ("ping", "fail"):
        await CronJob.objects.acreate(
            job_id=name,
            task_name=f"tests.shop.tasks.{name}",
            cron_expression="* * * * *",
            payload={"url": "/"} if name == "ping" else {},
            **values,
        )
    shop.calls.clear()
    async with open_scheduler() as scheduler:
        await scheduler.start(max_ticks=1)
    stories = {
        job_id: [
            name
            for name, arguments in ear.heard
            if "run" in arguments and arguments["run"].job_id == job_id
        ]
        for job_id in ("ping", "fail")
    }
    assert stories == {
        "ping": ["run_enqueued", "run_started", "run_succeeded"],
        "fail": ["run_enqueued", "run_started", "run_failed"],
    }
    (failed,) = ear.of("run_failed")
    assert (failed["error"], failed["status"]) == ("RuntimeError: out of paper", "failed")
    assert isinstance(failed["run"], CurrentRun)
    assert len(ear.threads) == 1
    assert shop.calls == [("ping", "/")]


@pytest.mark.django_db(transaction=True)
async def test_a_run_given_up_at_the_end_is_lost(ear: Ear) -> None:
    await CronJob.objects.acreate(
        job_id="wait",
        task_name="tests.shop.tasks.wait",
        cron_expression="* * * * *",
        plan_from=datetime.now(UTC) - timedelta(minutes=2),
    )
    shop.gate.clear()
    shop.arrived.clear()
    scheduler = DynamicScheduler(
        DjangoCronJobRepository(),
        LocalTaskEnqueuer(),
        shutdown_grace_seconds=0.05,
        observers=[send_signals],
    )
    running = asyncio.ensure_future(scheduler.start())
    try:
        assert await asyncio.to_thread(shop.arrived.wait, 10)
        scheduler.stop()
        await running
    finally:
        shop.gate.set()
        await scheduler.aclose()
    (told,) = ear.of("run_lost")
    assert told["run"].job_id == "wait"
    row = await CronRun.objects.aget(status="lost")
    assert row.id == told["run"].run_id


@pytest.mark.django_db(transaction=True)
async def test_what_a_sweep_takes_up_knows_when_it_was_due() -> None:
    slot = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    await CronJob.objects.acreate(
        job_id="spread",
        task_name="shop.x",
        cron_expression="0 12 * * *",
        jitter_seconds=600,
        misfire_policy="fire_all",
    )
    waiting = {
        "job_id": "spread",
        "task_name": "shop.x",
        "status": "claimed",
        "created_at": slot,
        "replica": "other",
    }
    moments = {
        # not delivered yet: what it waited for, its jitter
        1: (slot, 0, slot + timedelta(seconds=400)),
        # tried once: its jitter is forgotten, so the longest it can have been
        2: (slot - timedelta(days=1), 1, slot + timedelta(seconds=100)),
        # asked for by hand
        3: (None, 0, slot),
    }
    for number, (scheduled_for, attempts, lease_until) in moments.items():
        await CronRun.objects.acreate(
            id=UUID(int=number),
            scheduled_for=scheduled_for,
            attempts=attempts,
            lease_until=lease_until,
            kind="manual" if scheduled_for is None else "scheduled",
            **waiting,
        )
    order = SweepOrder(
        at=slot + timedelta(seconds=500), limit=10, replica_id="me", lease=timedelta(seconds=60)
    )
    swept = await DjangoCronJobRepository().sweep(order)
    due_at = {run.run_id.int: run.due_at for run in swept.runs}
    assert due_at == {
        1: datetime(2026, 11, 30, 12, 6, 40, tzinfo=UTC),
        2: datetime(2026, 11, 29, 12, 10, tzinfo=UTC),
        3: None,
    }


def test_the_lateness_of_an_event() -> None:
    run = Run(UUID(int=1), "a", "b", {}, "default", NOON, due_at=NOON)
    assert RunEnqueued(run, NOON + timedelta(seconds=3)).lateness == timedelta(seconds=3)
    assert RunEnqueued(run, NOON - timedelta(seconds=3)).lateness == timedelta(0)
    assert RunEnqueued(replace(run, due_at=None), NOON).lateness is None
