"""What a worker of Dramatiq tells of its runs: a real worker, with a broker in this process."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import dramatiq
import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import AsyncIO, Middleware, Retries, SkipMessage

from django_dyncron import CurrentRun, background_task, current_run, runs_once
from django_dyncron.core.definitions import Run
from django_dyncron.enqueuers.dramatiq import DramatiqTaskEnqueuer
from django_dyncron.enqueuers.dramatiq_worker import set_up_worker
from django_dyncron.models import CronJob, CronRun
from tests.databases import database_alias

RUN = CurrentRun(UUID(int=7), "morning", datetime(2026, 11, 1, 5, 30, tzinfo=UTC))
AT_ONCE = {"min_backoff": 1, "max_backoff": 1}

did: list[tuple[str, CurrentRun | None]] = []
"""What the tasks did, and in which run."""
statuses: list[str] = []
"""What the row of the run said while a task was at it."""


def try_(word: str) -> None:
    did.append((word, current_run()))
    statuses.append(CronRun.objects.get(pk=RUN.run_id).status)


@background_task(queue="reports")
def fail_twice(word: str) -> None:
    try_(word)
    if len(did) < 3:
        raise RuntimeError("not yet")


@background_task
@runs_once
def note_once(word: str) -> None:
    did.append((word, current_run()))


@pytest.fixture(autouse=True)
def broker(monkeypatch: pytest.MonkeyPatch) -> StubBroker:
    broker = StubBroker()
    monkeypatch.setattr("dramatiq.broker.global_broker", broker)
    did.clear()
    statuses.clear()
    return broker


@pytest.fixture(autouse=True)
def _row(transactional_db: None) -> None:
    """A run that its queue has, and no worker yet."""
    CronJob.objects.create(job_id="morning", task_name="any", cron_expression="30 5 * * *")
    CronRun.objects.create(
        id=RUN.run_id,
        job_id="morning",
        scheduled_for=RUN.scheduled_for,
        status="enqueued",
        task_name="any",
        enqueued_at=datetime(2026, 11, 1, 5, 30, 1, tzinfo=UTC),
        attempts=1,
    )


def row() -> CronRun:
    return CronRun.objects.get(pk=RUN.run_id)


def enqueue(task_name: str, queue: str = "default", **options: Any) -> None:
    """Send the run to the queue."""
    slot = RUN.scheduled_for
    run = Run(RUN.run_id, "morning", task_name, {"word": "hi"}, queue, slot, options=options)
    async_to_sync(DramatiqTaskEnqueuer().enqueue_run)(run)


@pytest.fixture
def work(broker: StubBroker) -> Callable[[], None]:
    """Return what lets a worker empty all queues."""
    set_up_worker()

    def start_and_stop() -> None:
        worker = dramatiq.Worker(broker, worker_timeout=10, worker_threads=1)
        worker.start()
        try:
            for queue in broker.get_declared_queues() - broker.get_declared_delay_queues():
                broker.join(queue, timeout=10_000, fail_fast=False)
        finally:
            worker.stop()

    return start_and_stop


def test_a_background_task_is_tried_as_often_as_its_job_asks(work: Callable[[], None]) -> None:
    enqueue(f"{__name__}.fail_twice", "reports", max_retries=2, **AT_ONCE)
    work()
    assert did == [("hi", RUN)] * 3
    assert statuses == ["running"] * 3
    assert (row().status, row().error) == ("succeeded", "")
    assert row().task_id == str(RUN.run_id)


def test_a_background_task_is_not_retried_by_itself(
    broker: StubBroker, work: Callable[[], None]
) -> None:
    broker.middleware[-1].retry_when = lambda retries, error: True
    enqueue(f"{__name__}.fail_twice")
    work()
    assert len(did) == 1
    assert (row().status, row().error) == ("failed", "RuntimeError: not yet")


def test_an_actor_that_is_tried_again_has_not_ended(work: Callable[[], None]) -> None:
    @dramatiq.actor(max_retries=2, **AT_ONCE)
    def stumble(word: str) -> None:
        fail_twice(word)

    enqueue("stumble")
    work()
    assert did == [("hi", RUN)] * 3
    assert statuses == ["running"] * 3
    assert (row().status, row().error) == ("succeeded", "")


def test_an_actor_ends_with_its_last_retry(work: Callable[[], None]) -> None:
    @dramatiq.actor(max_retries=1, **AT_ONCE)
    def stumble(word: str) -> None:
        fail_twice(word)

    enqueue("stumble")
    work()
    assert statuses == ["running"] * 2
    assert (row().status, row().error) == ("failed", "RuntimeError: not yet")


def test_an_error_that_an_actor_foresees_ends_its_run(work: Callable[[], None]) -> None:
    @dramatiq.actor(throws=(RuntimeError,))
    def stumble(word: str) -> None:
        fail_twice(word)

    enqueue("stumble")
    work()
    assert (row().status, row().error) == ("failed", "RuntimeError: not yet")


def test_without_retries_an_error_ends_the_run(
    broker: StubBroker, work: Callable[[], None]
) -> None:
    broker.middleware[:] = [each for each in broker.middleware if not isinstance(each, Retries)]
    enqueue(f"{__name__}.fail_twice")
    work()
    assert (row().status, row().error) == ("failed", "RuntimeError: not yet")


def test_what_starts_once_has_ended_though_dramatiq_tries_again(work: Callable[[], None]) -> None:
    @dramatiq.actor(max_retries=1, **AT_ONCE)
    @runs_once
    def stumble(word: str) -> None:
        fail_twice(word)

    enqueue("stumble")
    work()
    assert did == [("hi", RUN)]
    assert (row().status, row().error) == ("failed", "RuntimeError: not yet")


def test_an_async_actor_knows_its_run(broker: StubBroker, work: Callable[[], None]) -> None:
    broker.add_middleware(AsyncIO())

    @dramatiq.actor
    async def note(word: str) -> None:
        did.append((word, current_run()))

    @dramatiq.actor
    async def ask(word: str) -> None:
        did.append((word, current_run()))

    enqueue("note")
    ask.send("no run")
    work()
    assert dict(did) == {"hi": RUN, "no run": None}
    assert row().status == "succeeded"


def test_a_message_that_is_skipped_has_failed(work: Callable[[], None]) -> None:
    enqueue(f"{__name__}.note_once", max_age=1)
    work()
    assert did == []
    assert (row().status, row().error) == ("failed", "SkipMessage: Message age limit exceeded")


class SkipTheSecond(Middleware):
    seen = 0

    def before_process_message(self, broker: Any, message: Any) -> None:
        self.seen += 1
        if self.seen == 2:
            raise SkipMessage("seen before")


def test_a_second_delivery_that_is_skipped_is_no_end(
    broker: StubBroker, work: Callable[[], None]
) -> None:
    broker.add_middleware(SkipTheSecond())
    enqueue(f"{__name__}.note_once")
    enqueue(f"{__name__}.note_once")
    work()
    assert did == [("hi", RUN)]
    assert (row().status, row().error) == ("succeeded", "")


def test_a_second_delivery_starts_nothing_where_asked(work: Callable[[], None]) -> None:
    for _ in range(3):
        enqueue(f"{__name__}.note_once")
    work()
    assert did == [("hi", RUN)]
    assert row().status == "succeeded"


def test_what_could_not_ask_whether_it_had_started_is_tried_again(
    work: Callable[[], None], broker: StubBroker
) -> None:
    class StoreComesBack(Middleware):
        """Brings the store back once the first attempt is over."""

        def after_process_message(self, *_: Any, **__: Any) -> None:
            away.disable()

    broker.add_middleware(StoreComesBack())
    with database_alias("away", "postgresql://127.0.0.1:1/nowhere"):
        away = override_settings(DYNCRON={"DATABASE": "away"})
        enqueue(f"{__name__}.note_once", **AT_ONCE)
        away.enable()
        work()
    assert did == [("hi", RUN)]
    assert row().status == "succeeded"


def test_a_message_of_nobody_s_run_is_left_alone(work: Callable[[], None]) -> None:
    @dramatiq.actor
    def note(word: str) -> None:
        did.append((word, current_run()))

    note.send("by hand")
    work()
    assert did == [("by hand", None)]
    assert row().status == "enqueued"
