"""The local enqueuer: tasks of this process, started at most once, their outcome written down."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import override_settings
from django.utils.translation import activate, get_language

from django_dyncron.context import CurrentRun, current_run
from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueNotSent, EnqueueRefused, StoreUnavailable
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers import local
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.shop import tasks

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
DAY = {"day": "2026-11-01"}


def a_run(task: str, number: int = 1, **payload: Any) -> Run:
    name = f"tests.shop.tasks.{task}"
    return Run(UUID(int=number), f"job-{number}", name, payload, "default", SLOT)


class Journal:
    """Writes down what it is told; ``lost`` ids are somebody else's."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.lost: set[str] = set()
        self.failures = 0

    async def start(self, run: Run) -> bool:
        self._fail_if_told_to()
        self.events.append(("start", run.job_id, ""))
        return run.job_id not in self.lost

    async def finish(self, run: Run, error: str = "") -> None:
        self._fail_if_told_to()
        self.events.append(("finish", run.job_id, error))

    def _fail_if_told_to(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the database is away")


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
async def enqueuer(journal: Journal) -> AsyncIterator[LocalTaskEnqueuer]:
    enqueuer = LocalTaskEnqueuer(max_workers=2)
    enqueuer.bind(journal)
    yield enqueuer
    tasks.gate.set()
    await enqueuer.drain(timedelta(seconds=10))
    await enqueuer.aclose()


@pytest.fixture(autouse=True)
def _clean_shop() -> None:
    tasks.calls.clear()
    tasks.runs.clear()
    tasks.gate.clear()
    tasks.arrived.clear()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_START_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(local, "_FINISH_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(local, "_LAST_WORDS_SECONDS", 0.2)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - threads set no asyncio.Event
            await asyncio.sleep(0.005)


async def send(enqueuer: LocalTaskEnqueuer, *runs: Run) -> list[Outcome]:
    return [attempt.outcome for attempt in await enqueuer.enqueue_runs(runs, lambda: True)]


async def idle(enqueuer: LocalTaskEnqueuer) -> None:
    await until(lambda: not enqueuer.in_hand())


async def test_a_run_is_started_called_and_finished(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    run = a_run("build_report", **DAY, full=True)
    (attempt,) = await enqueuer.enqueue_runs([run], lambda: True)
    assert attempt.outcome is Outcome.STARTED_HERE
    assert attempt.task_id == "00000000-0000-0000-0000-000000000001"
    assert list(enqueuer.in_hand()) == [run]
    await idle(enqueuer)
    assert tasks.calls == [("build_report", ("2026-11-01", True))]
    assert journal.events == [("start", "job-1", ""), ("finish", "job-1", "")]


@pytest.mark.parametrize(
    "task, payload", [("build_report", DAY), ("ping", {"url": "/"})], ids=["sync", "async"]
)
async def test_a_task_can_ask_which_run_it_is(
    enqueuer: LocalTaskEnqueuer, task: str, payload: dict[str, str]
) -> None:
    await send(enqueuer, a_run(task, **payload))
    await idle(enqueuer)
    assert tasks.runs == [CurrentRun(UUID(int=1), "job-1", SLOT)]
    assert current_run() is None


async def test_a_task_that_raises_fails_its_run_alone(
    enqueuer: LocalTaskEnqueuer, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    await send(enqueuer, a_run("fail", message="out\n of paper"), a_run("ping", 2, url="/"))
    await idle(enqueuer)
    assert ("finish", "job-1", "RuntimeError: out of paper") in journal.events
    assert ("finish", "job-2", "") in journal.events
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.name == "django_dyncron"
    assert record.getMessage() == "Run 00000000-0000-0000-0000-000000000001 of job-1 failed"
    assert record.exc_info is not None
    assert record.action == "task_failed"  # type: ignore[attr-defined]
    assert record.job_id == "job-1"  # type: ignore[attr-defined]


async def test_a_task_that_exits_takes_nothing_with_it(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    await send(enqueuer, *(a_run("leave", number) for number in (1, 2, 3)))
    await send(enqueuer, a_run("ping", 4, url="/"))
    await idle(enqueuer)
    assert ("finish", "job-3", "SystemExit: 3") in journal.events
    assert tasks.calls == [("ping", "/")]


async def test_an_endless_error_is_cut(enqueuer: LocalTaskEnqueuer, journal: Journal) -> None:
    await send(enqueuer, a_run("fail", message="x" * 100_000))
    await idle(enqueuer)
    assert len(journal.events[-1][2]) == 2000


async def test_what_can_never_run_is_refused_and_the_rest_goes_on(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    outcomes = await send(
        enqueuer,
        a_run("system", 1),
        a_run("build_report", 2, dya="?"),
        a_run("ping", 3, url="/"),
    )
    assert outcomes == [Outcome.REFUSED, Outcome.REFUSED, Outcome.STARTED_HERE]
    await idle(enqueuer)
    assert journal.events == [("start", "job-3", ""), ("finish", "job-3", "")]


async def test_no_more_than_max_workers_run_and_the_others_wait_their_turn(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    runs = [a_run("wait", number) for number in range(1, 6)]
    await send(enqueuer, *runs)
    await until(tasks.arrived.is_set)
    await asyncio.sleep(0.05)
    assert [event[1] for event in journal.events] == ["job-1", "job-2"]
    assert list(enqueuer.in_hand()) == runs
    tasks.gate.set()
    await idle(enqueuer)
    assert len(tasks.calls) == 5
    starts = [job_id for what, job_id, _ in journal.events if what == "start"]
    assert starts == ["job-1", "job-2", "job-3", "job-4", "job-5"]


async def test_a_run_that_is_somebody_else_s_is_not_called(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    journal.lost = {"job-1"}
    await send(enqueuer, a_run("ping", url="/"))
    await idle(enqueuer)
    assert tasks.calls == []
    assert journal.events == [("start", "job-1", "")]


async def test_a_run_in_hand_is_not_taken_twice(enqueuer: LocalTaskEnqueuer) -> None:
    outcomes = await send(enqueuer, a_run("wait"), a_run("wait"))
    assert outcomes == [Outcome.STARTED_HERE, Outcome.STARTED_HERE]
    tasks.gate.set()
    await idle(enqueuer)
    assert tasks.calls == [("wait", None)]


async def test_the_event_loop_stays_free(enqueuer: LocalTaskEnqueuer) -> None:
    await send(enqueuer, a_run("wait"))
    async with asyncio.timeout(5):
        await asyncio.to_thread(tasks.arrived.wait, 5)
    assert threading.current_thread() is threading.main_thread()
    assert list(enqueuer.in_hand()) != []


@pytest.mark.usefixtures("_impatient")
async def test_a_database_that_was_away_is_asked_again(
    enqueuer: LocalTaskEnqueuer, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.failures = 2
    await send(enqueuer, a_run("build_report", **DAY))
    await idle(enqueuer)
    assert journal.events == [("start", "job-1", ""), ("finish", "job-1", "")]
    assert [record.action for record in caplog.records] == ["journal_retried"] * 2  # type: ignore[attr-defined]


@pytest.mark.usefixtures("_impatient")
async def test_a_run_that_cannot_be_marked_as_running_is_not_called(
    enqueuer: LocalTaskEnqueuer, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.failures = 3
    await send(enqueuer, a_run("build_report", **DAY))
    await idle(enqueuer)
    assert tasks.calls == []
    assert journal.events == []
    assert caplog.records[-1].action == "journal_failed"  # type: ignore[attr-defined]


async def test_draining_waits_for_what_runs_and_starts_nothing_new(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    runs = [a_run("wait", number) for number in (1, 2, 3)]
    await send(enqueuer, *runs)
    await until(tasks.arrived.is_set)
    assert list(enqueuer.withdraw()) == [runs[2]]
    draining = asyncio.create_task(enqueuer.drain(timedelta(seconds=10)))
    await asyncio.sleep(0)
    tasks.gate.set()
    assert await draining == []
    assert list(enqueuer.in_hand()) == []
    assert [event for event in journal.events if event[1] == "job-3"] == []
    assert await send(enqueuer, a_run("ping", 4, url="/")) == [Outcome.UNTRIED]
    with pytest.raises(EnqueueNotSent):
        await enqueuer.enqueue_task("tests.shop.tasks.ping", {"url": "/"}, "default")


@pytest.mark.usefixtures("_impatient")
async def test_draining_gives_up_after_the_grace(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    run = a_run("wait")
    await send(enqueuer, run)
    await until(tasks.arrived.is_set)
    assert await enqueuer.drain(timedelta(seconds=0.05)) == [run]
    tasks.gate.set()
    await until(lambda: tasks.calls == [("wait", None)])
    assert journal.events == [("start", "job-1", "")]
    assert list(enqueuer.in_hand()) == []


async def test_a_run_that_ends_within_the_grace_may_have_that_written(
    enqueuer: LocalTaskEnqueuer, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slowly(run: Run, error: str = "") -> None:
        await asyncio.sleep(0.3)
        journal.events.append(("finish", run.job_id, error))

    monkeypatch.setattr(journal, "finish", slowly)
    await send(enqueuer, a_run("build_report", **DAY))
    await until(lambda: bool(tasks.calls))
    await asyncio.sleep(0.05)
    assert await enqueuer.drain(timedelta(seconds=0.01)) == []
    assert journal.events[-1] == ("finish", "job-1", "")


async def test_a_task_by_hand_needs_no_journal(caplog: pytest.LogCaptureFixture) -> None:
    enqueuer = LocalTaskEnqueuer()
    await enqueuer.enqueue_task("tests.shop.tasks.build_report", DAY, "anything")
    await enqueuer.enqueue_task("tests.shop.tasks.fail", {}, "anything")
    assert list(enqueuer.in_hand()) == []
    assert await enqueuer.drain(timedelta(seconds=10)) == []
    await enqueuer.aclose()
    assert tasks.runs == [None]
    assert caplog.messages[-1].endswith(" of tests.shop.tasks.fail failed")


async def test_a_function_may_be_allowed_by_the_settings(enqueuer: LocalTaskEnqueuer) -> None:
    assert await send(enqueuer, a_run("restock", count=3)) == [Outcome.REFUSED]
    with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*"]}):
        assert await send(enqueuer, a_run("restock", count=3)) == [Outcome.STARTED_HERE]
        await idle(enqueuer)
    assert tasks.calls == [("restock", 3)]


def test_checking_needs_no_event_loop() -> None:
    enqueuer = LocalTaskEnqueuer()
    enqueuer.check_task("tests.shop.tasks.build_report", DAY, "any queue")
    with pytest.raises(EnqueueRefused, match="missing a required argument: 'day'"):
        enqueuer.check_task("tests.shop.tasks.build_report", {}, "any queue")


@pytest.mark.parametrize("max_workers", [0, -1, 1.5, True, "4", None])
def test_a_pool_needs_at_least_one_worker(max_workers: Any) -> None:
    with pytest.raises(ValueError, match="max_workers must be a whole number above 0"):
        LocalTaskEnqueuer(max_workers)


# --- threads and connections ------------------------------------------------------------------


async def test_threads_start_when_needed_and_end_when_closed(journal: Journal) -> None:
    def workers() -> list[str]:
        return [
            each.name for each in threading.enumerate() if each.name.startswith("dyncron-local")
        ]

    enqueuer = LocalTaskEnqueuer(max_workers=3)
    enqueuer.bind(journal)
    assert workers() == []
    for number in (1, 2, 3):
        await send(enqueuer, a_run("ping", number, url="/"))
        await idle(enqueuer)
    assert workers() == ["dyncron-local-1"]
    await send(enqueuer, *(a_run("wait", number) for number in range(4, 9)))
    await until(lambda: len(workers()) == 3)
    tasks.gate.set()
    await idle(enqueuer)
    await enqueuer.aclose()
    assert workers() == []


async def test_the_blocking_parts_of_an_async_task_stay_in_its_thread(
    enqueuer: LocalTaskEnqueuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    async def ask(day: str) -> None:
        seen.append(await sync_to_async(lambda: threading.current_thread().name)())

    monkeypatch.setattr("django_dyncron.enqueuers.local.resolve_task", lambda name: ask)
    await send(enqueuer, a_run("build_report", **DAY))
    await idle(enqueuer)
    assert seen == ["dyncron-local-1"]


async def test_nothing_a_task_sets_in_its_context_outlives_it(
    enqueuer: LocalTaskEnqueuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def translate(day: str) -> None:
        seen.append(get_language())
        activate("de")

    monkeypatch.setattr("django_dyncron.enqueuers.local.resolve_task", lambda name: translate)
    for number in (1, 2):
        await send(enqueuer, a_run("build_report", number, **DAY))
        await idle(enqueuer)
    assert seen == ["en-us", "en-us"]


@pytest.mark.django_db(transaction=True)
async def test_a_task_s_connection_is_its_thread_s_own_and_closed_after_it(
    enqueuer: LocalTaskEnqueuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def query(day: str, *, full: bool = False) -> None:
        connection.ensure_connection()
        seen.append((threading.current_thread().name, connection._connections["default"]))  # type: ignore[attr-defined]

    monkeypatch.setattr("django_dyncron.enqueuers.local.resolve_task", lambda name: query)
    await send(enqueuer, a_run("build_report", **DAY))
    await idle(enqueuer)
    ((thread, used),) = seen
    assert thread == "dyncron-local-1"
    assert used.connection is None


_STUCK = """
import asyncio, datetime, sys
import django
from django.conf import settings
settings.configure()
django.setup()
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.shop import tasks

async def main():
    enqueuer = LocalTaskEnqueuer()
    await enqueuer.enqueue_task("tests.shop.tasks.wait", {}, "default")
    await asyncio.to_thread(tasks.arrived.wait)
    given_up = await enqueuer.drain(datetime.timedelta(seconds=0.1))
    return 1 if given_up else 0

sys.exit(asyncio.run(main()))
"""


def test_a_task_that_never_ends_does_not_keep_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", _STUCK], timeout=20, check=False)
    assert done.returncode == 1
