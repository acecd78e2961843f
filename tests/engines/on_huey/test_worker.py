"""What Huey's workers tell of runs. They do ``huey.execute(huey.dequeue())``, as is done here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.test import override_settings
from huey import CancelExecution, Huey, MemoryHuey
from huey.api import Task
from huey.exceptions import RetryTask, TaskException
from huey.storage import MemoryStorage
from pytest_django import DjangoAssertNumQueries

from django_dyncron import CurrentRun, StoreUnavailable, current_run
from django_dyncron.core.definitions import Run
from django_dyncron.enqueuers.huey import HueyTaskEnqueuer
from django_dyncron.enqueuers.huey_worker import id_with_run, run_of
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories.orm import DjangoCronJobRepository
from tests.engines.on_huey import plain
from tests.engines.on_huey.plain import letters
from tests.engines.tasks import read_notes

pytestmark = pytest.mark.django_db(transaction=True)

RUN_ID = UUID(int=7)
SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
IDENTITY = {
    "run_id": "00000000-0000-0000-0000-000000000007",
    "job_id": "morning",
    "scheduled_for": "2026-11-01T05:30:00+00:00",
}
PLAIN = "tests.engines.on_huey.plain"
TASKS = "tests.engines.tasks"


class AwayRepository(DjangoCronJobRepository):
    """A store that no worker can ask."""

    def report_start_here(self, run_id: UUID, job_id: str, task_id: str = "") -> bool:
        raise StoreUnavailable("away")


AWAY = {"REPOSITORY": f"{__name__}.AwayRepository"}


@pytest.fixture(autouse=True)
def _morning() -> Iterator[None]:
    CronJob.objects.create(job_id="morning", task_name="x", cron_expression="0 6 * * *")
    yield
    letters.flush()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def send(task_name: str, payload: dict[str, Any], huey: Huey = letters, **others: Any) -> Task:
    """Enqueue the run as a scheduler does."""
    slot = others.pop("scheduled_for", SLOT)
    run = Run(RUN_ID, "morning", task_name, payload, "default", slot, **others)
    _, task = HueyTaskEnqueuer(huey).prepare(task_name, payload, "default", run)
    values = {"job_id": "morning", "scheduled_for": slot, "status": "enqueued"}
    CronRun.objects.get_or_create(pk=RUN_ID, defaults=values)
    huey.enqueue(task)
    return task


def work(huey: Huey = letters) -> None:
    """Execute one task, as a worker does."""
    huey.execute(huey.dequeue())


def row() -> CronRun:
    return CronRun.objects.get(pk=RUN_ID)


def told() -> tuple[str, str]:
    return row().status, row().error


# --- a task from beginning to end -------------------------------------------------------------


@pytest.mark.parametrize("task", [f"{PLAIN}.write", f"{TASKS}.note", f"{TASKS}.note_async"])
def test_a_task_knows_its_run_and_its_end_is_told(task: str, notes: Path) -> None:
    sent = send(task, {"path": str(notes), "word": "hello"})
    work()
    assert read_notes(notes) == [{"word": "hello", "run": IDENTITY}]
    assert told() == ("succeeded", "")
    assert row().task_id == sent.id
    assert current_run() is None


def test_a_run_asked_for_by_hand_has_no_slot(notes: Path) -> None:
    send(f"{PLAIN}.write", {"path": str(notes), "word": "now"}, scheduled_for=None)
    work()
    assert read_notes(notes) == [{"word": "now", "run": {**IDENTITY, "scheduled_for": None}}]
    assert told() == ("succeeded", "")


def test_a_context_task_gets_itself_and_its_arguments(notes: Path) -> None:
    send(f"{PLAIN}.describe", {"path": str(notes), "delay": 60, "id": "7"})
    work()
    assert read_notes(notes) == [{"word": "delay=60 id=7 eta=None", "run": IDENTITY}]


def test_a_background_task_that_fails_leaves_no_result_behind(notes: Path) -> None:
    send(f"{TASKS}.fail", {"path": str(notes), "message": "out of paper"})
    work()
    assert told() == ("failed", "RuntimeError: out of paper")
    assert CronJob.objects.get().last_error == "RuntimeError: out of paper"
    assert letters.result_count() == 0


def test_the_result_of_a_task_of_huey_is_its_own_affair(notes: Path) -> None:
    options = {"retries": 0}
    sent = send(f"{PLAIN}.fail", {"path": str(notes), "message": "no ink"}, options=options)
    work()
    assert told() == ("failed", "RuntimeError: no ink")
    with pytest.raises(TaskException, match="no ink"):
        letters.result(sent.id)


def test_the_worker_refuses_what_it_may_not_run() -> None:
    with override_settings(DYNCRON={"ALLOWED_TASKS": [f"{TASKS}.write_note"]}):
        send(f"{TASKS}.write_note", {"path": "notes", "word": "hello"})
    work()
    status, error = told()
    assert status == "failed"
    assert "nor allowed by ALLOWED_TASKS" in error


def test_other_tasks_cost_no_query(
    notes: Path, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    plain.write(str(notes), "mine")
    with django_assert_num_queries(0):
        work()
    assert read_notes(notes) == [{"word": "mine", "run": None}]


# --- retries ----------------------------------------------------------------------------------


def test_a_retry_is_no_end(notes: Path) -> None:
    send(f"{PLAIN}.fail", {"path": str(notes), "message": "no"})
    work()
    assert (*told(), row().finished_at) == ("running", "", None)
    work()
    assert told() == ("running", "")
    work()
    assert told() == ("failed", "RuntimeError: no")
    assert read_notes(notes) == [{"word": "attempt", "run": IDENTITY}] * 3
    assert current_run() is None


def test_a_job_may_ask_for_retries_of_a_background_task(notes: Path) -> None:
    payload = {"path": str(notes), "message": "no"}
    send(f"{TASKS}.fail", payload, options={"retries": 1})
    work()
    assert told() == ("running", "")
    work()
    assert told() == ("failed", "RuntimeError: no")
    assert len(letters) == 0


def test_a_task_that_starts_once_has_ended_when_it_fails(notes: Path) -> None:
    send(f"{PLAIN}.fail_once", {"path": str(notes), "message": "never again"})
    for _ in range(2):
        work()
        assert told() == ("failed", "RuntimeError: never again")
    assert read_notes(notes) == [{"word": "attempt", "run": IDENTITY}]
    assert len(letters) == 0


def test_a_run_delivered_three_times_starts_once(notes: Path) -> None:
    for _ in range(3):
        send(f"{TASKS}.note_once", {"path": str(notes), "word": "once"})
    for _ in range(3):
        work()
    assert read_notes(notes) == [{"word": "once", "run": IDENTITY}]
    assert told() == ("succeeded", "")


def test_a_task_that_starts_once_waits_for_the_store(notes: Path) -> None:
    send(f"{TASKS}.note_once", {"path": str(notes), "word": "once"})
    with override_settings(DYNCRON=AWAY):
        work()
    assert read_notes(notes) == []
    assert told() == ("enqueued", "")
    (again,) = letters.scheduled()
    again.eta = None
    letters.enqueue(again)
    work()
    assert read_notes(notes) == [{"word": "once", "run": IDENTITY}]
    assert told() == ("succeeded", "")


def test_a_store_that_is_away_keeps_no_other_task_from_running(notes: Path) -> None:
    send(f"{PLAIN}.write", {"path": str(notes), "word": "hello"})
    with override_settings(DYNCRON=AWAY):
        work()
    assert read_notes(notes) == [{"word": "hello", "run": IDENTITY}]
    assert told() == ("enqueued", "")


# --- tasks that do not begin, and oddities ----------------------------------------------------


def test_a_run_that_expires_in_the_queue_has_failed(notes: Path) -> None:
    payload = {"path": str(notes), "word": "late"}
    send(f"{TASKS}.note", payload, options={"expires": 1})
    letters.execute(letters.dequeue(), datetime(2100, 1, 1))  # noqa: DTZ001 - Huey's are naive
    assert told() == ("failed", "It expired before a worker took it.")
    assert read_notes(notes) == []
    assert current_run() is None


def test_a_second_delivery_that_expires_changes_nothing(notes: Path) -> None:
    payload = {"path": str(notes), "word": "in time"}
    for _ in range(2):
        send(f"{PLAIN}.write", payload, options={"expires": 60})
    work()
    letters.execute(letters.dequeue(), datetime(2100, 1, 1))  # noqa: DTZ001 - Huey's are naive
    assert told() == ("succeeded", "")
    assert current_run() is None


def test_a_run_that_is_revoked_has_failed(notes: Path) -> None:
    sent = send(f"{TASKS}.note", {"path": str(notes), "word": "no more"})
    letters.revoke_by_id(sent.id)
    work()
    assert told() == ("failed", "It was revoked before a worker took it.")
    assert read_notes(notes) == []


def test_a_run_that_a_hook_cancels_has_failed() -> None:
    huey = MemoryHuey("cancelling")

    @huey.pre_execute()
    def cancel(task: Task) -> None:
        raise CancelExecution

    send(f"{TASKS}.note", {"path": "", "word": ""}, huey)
    work(huey)
    assert told() == ("failed", "A hook of Huey cancelled it before it began.")


def test_a_hook_that_cancels_after_ours_leaves_no_run_behind() -> None:
    huey = MemoryHuey("cancelling late")
    send(f"{TASKS}.note", {"path": "", "word": ""}, huey)
    seen: list[CurrentRun | None] = []

    @huey.pre_execute()
    def cancel(task: Task) -> None:
        raise CancelExecution

    work(huey)
    huey.unregister_pre_execute("cancel")
    huey.task(name="look")(lambda: seen.append(current_run()))()
    work(huey)
    assert seen == [None]
    assert told() == ("failed", "A hook of Huey cancelled it before it began.")


def test_a_second_delivery_that_a_hook_cancels_changes_nothing(notes: Path) -> None:
    huey = MemoryHuey("cancelling the second")
    for _ in range(2):
        send(f"{TASKS}.note", {"path": str(notes), "word": "once"}, huey)
    work(huey)

    @huey.pre_execute()
    def cancel(task: Task) -> None:
        raise CancelExecution

    work(huey)
    assert told() == ("succeeded", "")
    assert current_run() is None


@pytest.mark.parametrize(
    "error, status, words",
    [
        (CancelExecution("enough"), "failed", "CancelExecution: enough"),
        (CancelExecution("not yet", retry=True), "running", ""),
        (RetryTask("later"), "running", ""),
    ],
)
def test_a_task_may_decide_by_itself(error: Exception, status: str, words: str) -> None:
    huey = MemoryHuey("deciding")

    def decide() -> None:
        raise error

    plain.decide = huey.task()(decide)
    try:
        send(f"{PLAIN}.decide", {}, huey)
        work(huey)
    finally:
        del plain.decide
    assert told() == (status, words)


def test_a_result_that_cannot_be_stored_leaves_no_run_behind() -> None:
    class ForgetfulStorage(MemoryStorage):
        def put_data(self, key: str, value: bytes, is_result: bool = False) -> None:
            raise OSError("full")

    huey = Huey("forgetful", storage_class=ForgetfulStorage, store_none=True)
    seen: list[CurrentRun | None] = []
    send(f"{TASKS}.note", {"path": "/dev/null", "word": ""}, huey)
    with pytest.raises(OSError, match="full"):
        work(huey)
    huey.results = False
    huey.task(name="look")(lambda: seen.append(current_run()))()
    work(huey)
    assert seen == [None]


def test_immediate_mode_runs_tasks_within_tasks(notes: Path) -> None:
    huey = MemoryHuey("at once", immediate=True)
    path = str(notes)
    inner = huey.task(name="inner")(lambda: plain.write.call_local(path, "inner"))

    def nest() -> None:
        inner()
        plain.write.call_local(path, "outer")

    plain.nest = huey.task()(nest)
    try:
        send(f"{PLAIN}.nest", {}, huey)
    finally:
        del plain.nest
    words = [(note["word"], note["run"]) for note in read_notes(notes)]
    assert words == [("inner", IDENTITY), ("outer", IDENTITY)]
    assert told() == ("succeeded", "")
    assert current_run() is None


# --- ids that say which run it is -------------------------------------------------------------


@pytest.mark.parametrize("job_id", ["morning", "a/b//c", "Grüße 雪", "x" * 255])
@pytest.mark.parametrize("slot", [SLOT, None])
def test_an_id_says_all_of_a_run(job_id: str, slot: datetime | None) -> None:
    run = CurrentRun(RUN_ID, job_id, slot)
    assert run_of(Task(id=id_with_run(run))) == run


@pytest.mark.parametrize(
    "task_id",
    [
        "00000000-0000-4000-8000-000000000007",
        "00000000-0000-4000-8000-000000000007/2026-11-01T05:30:00+00:00",
        "00000000-0000-4000-8000-000000000007/2026-11-01T05:30:00/morning",
        "00000000-0000-4000-8000-000000000007/today/morning",
        "invoices/2026/november",
        "//",
        "7",
    ],
)
def test_other_ids_say_nothing(task_id: str) -> None:
    assert run_of(Task(id=task_id)) is None
