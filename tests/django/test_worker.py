"""What a worker tells of a run, on real rows but without a queue: its beginning and its end."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.test import override_settings

from django_dyncron import (
    CronJobDefinition,
    CurrentRun,
    EnqueueRefused,
    ICronJobRepository,
    RunNotStarted,
    StoreUnavailable,
    background_task,
    current_run,
    runs_once,
)
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.worker import Work, error_text, run_background_task

RUN = CurrentRun(UUID(int=7), "morning", datetime(2026, 11, 1, 5, 30, tzinfo=UTC))
NAME = "run 00000000-0000-0000-0000-000000000007 of morning"

did: list[tuple[str, CurrentRun | None]] = []
"""What the tasks did, and in which run."""


@background_task
def note(word: str) -> str:
    did.append((word, current_run()))
    return word


@background_task
async def note_async(word: str) -> None:
    did.append((word, current_run()))


@background_task
def fail(message: str) -> None:
    did.append((message, current_run()))
    raise RuntimeError(message)


@background_task
@runs_once
def note_once(word: str) -> None:
    did.append((word, current_run()))


@background_task
@runs_once
async def note_once_async(word: str) -> None:
    did.append((word, current_run()))


@background_task
@runs_once
def note_twice(word: str) -> None:
    note_once(word)
    note_once(f"{word}, too")


@background_task
@runs_once
def fail_once(message: str) -> None:
    raise RuntimeError(message)


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    did.clear()


@pytest.fixture
def row(transactional_db: None) -> CronRun:
    """A run that its queue has, and no worker yet."""
    CronJob.objects.create(
        job_id="morning", task_name=f"{__name__}.note", cron_expression="30 5 * * *"
    )
    return CronRun.objects.create(
        id=RUN.run_id,
        job_id="morning",
        scheduled_for=RUN.scheduled_for,
        status="enqueued",
        task_name=f"{__name__}.note",
        enqueued_at=datetime(2026, 11, 1, 5, 30, 1, tzinfo=UTC),
        task_id="q-1",
        attempts=1,
    )


def perform(
    task: str, word: str = "hello", run: CurrentRun | None = RUN, task_id: str = ""
) -> None:
    run_background_task(f"{__name__}.{task}", {"word": word}, run and run.as_json(), task_id)


def state(row: CronRun) -> tuple[str, str]:
    row.refresh_from_db()
    return row.status, row.error


def warnings(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    records = [record for record in caplog.records if record.name == "django_dyncron"]
    return [(vars(record)["action"], record.getMessage()) for record in records]


# --- beginning and end ----------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["note", "note_async", "note_once", "note_once_async"])
def test_a_run_begins_and_ends_well(task: str, row: CronRun) -> None:
    before = datetime.now(UTC)
    perform(task, task_id="q-7")
    assert did == [("hello", RUN)]
    assert state(row) == ("succeeded", "")
    assert (row.task_id, row.lease_until) == ("q-7", None)
    assert row.started_at is not None
    assert row.finished_at is not None
    assert row.started_at >= before - timedelta(seconds=1)
    assert row.started_at <= row.finished_at
    assert row.enqueued_at == datetime(2026, 11, 1, 5, 30, 1, tzinfo=UTC)
    assert current_run() is None


def test_between_the_two_it_is_running(row: CronRun) -> None:
    with Work(RUN) as work:
        assert state(row) == ("running", "")
        assert (row.task_id, row.finished_at) == ("q-1", None)
        assert current_run() == work.run == RUN
        time.sleep(0.05)
    assert state(row) == ("succeeded", "")
    assert row.started_at is not None
    assert row.finished_at is not None
    took = row.finished_at - row.started_at
    assert timedelta(seconds=0.04) <= took < timedelta(seconds=5)


async def test_a_coroutine_does_the_same(row: CronRun) -> None:
    async with Work(RUN, "q-7"):
        await row.arefresh_from_db()
        assert (row.status, row.task_id) == ("running", "q-7")
        assert current_run() == RUN
    await row.arefresh_from_db()
    assert row.status == "succeeded"
    assert current_run() is None
    with pytest.raises(RuntimeError, match="out of paper"):
        async with Work(RUN):
            raise RuntimeError("out of paper")
    await row.arefresh_from_db()
    assert (row.status, row.error) == ("failed", "RuntimeError: out of paper")


def test_what_a_task_raises_is_its_run_s_error_and_goes_on(row: CronRun) -> None:
    with pytest.raises(RuntimeError, match="out of\npaper"):
        run_background_task(f"{__name__}.fail", {"message": "out of\npaper"}, RUN.as_json())
    assert state(row) == ("failed", "RuntimeError: out of paper")
    assert row.finished_at is not None
    assert CronJob.objects.get().last_error == "RuntimeError: out of paper"
    assert current_run() is None
    perform("note")
    assert state(row) == ("succeeded", "")
    assert CronJob.objects.get().last_error == ""


def test_an_error_is_kept_in_one_line_of_bounded_length() -> None:
    assert error_text(None) == ""
    assert error_text(ValueError("a\n  b")) == "ValueError: a b"
    assert error_text(KeyError()) == "KeyError"
    assert error_text(ValueError("x" * 5000)) == "ValueError: " + "x" * 1988


def test_what_the_worker_may_not_run_has_failed(row: CronRun) -> None:
    with pytest.raises(EnqueueRefused):
        run_background_task("os.system", {}, RUN.as_json())
    status, error = state(row)
    assert status == "failed"
    assert error.startswith("EnqueueRefused: 'os.system' is not a registered task")


def test_what_is_no_run_is_just_done(row: CronRun) -> None:
    perform("note", run=None)
    perform("note_once", run=None)
    assert did == [("hello", None), ("hello", None)]
    assert state(row) == ("enqueued", "")


# --- delivered twice ------------------------------------------------------------------------------


def test_a_plain_task_starts_again_and_its_last_end_counts(row: CronRun) -> None:
    perform("note", "one")
    assert state(row) == ("succeeded", "")
    first = (row.started_at, row.finished_at)
    with pytest.raises(RuntimeError):
        run_background_task(f"{__name__}.fail", {"message": "jam"}, RUN.as_json())
    assert [word for word, _ in did] == ["one", "jam"]
    assert state(row) == ("failed", "RuntimeError: jam")
    assert row.started_at == first[0]
    assert row.finished_at is not None
    assert row.finished_at >= first[1]


@pytest.mark.parametrize("task", ["note_once", "note_once_async"])
def test_a_guarded_task_starts_once_and_its_first_end_stays(
    task: str, row: CronRun, caplog: pytest.LogCaptureFixture
) -> None:
    perform(task, "one", task_id="q-7")
    assert state(row) == ("succeeded", "")
    ended = row.finished_at
    for word in ("two", "three", "four"):
        perform(task, word, task_id="q-8")
    assert did == [("one", RUN)]
    assert state(row) == ("succeeded", "")
    assert (row.finished_at, row.task_id) == (ended, "q-7")
    words = f"{NAME.capitalize()} has started before"
    assert warnings(caplog) == [("start_refused", words)] * 3


def test_a_second_delivery_does_not_end_a_run_that_is_still_going_on(row: CronRun) -> None:
    with Work(RUN):
        perform("note_once")
        assert state(row) == ("running", "")
        assert current_run() == RUN
    assert did == []
    assert state(row) == ("succeeded", "")


def test_a_guarded_task_that_failed_is_not_tried_again(row: CronRun) -> None:
    with pytest.raises(RuntimeError):
        run_background_task(f"{__name__}.fail_once", {"message": "jam"}, RUN.as_json())
    run_background_task(f"{__name__}.fail_once", {"message": "jam"}, RUN.as_json())
    assert state(row) == ("failed", "RuntimeError: jam")


def test_guarded_functions_of_one_run_all_run(row: CronRun) -> None:
    perform("note_twice")
    assert [word for word, _ in did] == ["hello", "hello, too"]
    perform("note_twice")
    assert len(did) == 2


@pytest.mark.django_db
def test_a_run_that_is_not_in_the_table_has_begun_before() -> None:
    perform("note_once")
    perform("note")
    assert did == [("hello", RUN)]
    assert CronRun.objects.count() == 0


# --- attempts of the queue itself -----------------------------------------------------------------


def test_an_attempt_that_the_queue_repeats_is_no_end(row: CronRun) -> None:
    work = Work(RUN)
    work.begin()
    note("one")
    work.end_attempt("RuntimeError: jam")
    assert state(row) == ("running", "")
    assert current_run() is None
    perform("note")
    assert state(row) == ("succeeded", "")


def test_the_first_attempt_of_a_guarded_task_is_its_end(row: CronRun) -> None:
    work = Work(RUN)
    work.begin()
    note_once("one")
    work.end_attempt("RuntimeError: jam")
    assert state(row) == ("failed", "RuntimeError: jam")
    perform("note_once")
    assert len(did) == 1
    assert state(row) == ("failed", "RuntimeError: jam")


async def test_an_attempt_in_a_coroutine(row: CronRun) -> None:
    for task, status in ((note_async, "running"), (note_once_async, "failed")):
        await CronRun.objects.aupdate(started_at=None)
        work = Work(RUN)
        await work.abegin()
        await task("one")
        await work.aend_attempt("RuntimeError: jam")
        await row.arefresh_from_db()
        assert row.status == status
        assert current_run() is None


# --- nobody to tell -------------------------------------------------------------------------------


@pytest.mark.usefixtures("_store_away")
@pytest.mark.parametrize("task", ["note", "note_async"])
def test_a_store_that_is_away_keeps_no_task_from_running(
    task: str, caplog: pytest.LogCaptureFixture
) -> None:
    perform(task)
    assert did == [("hello", RUN)]
    assert warnings(caplog) == [("report_failed", f"Cannot tell that {NAME} begins")]
    assert "StoreUnavailable" in caplog.text


@pytest.mark.usefixtures("_store_away")
@pytest.mark.parametrize("task", ["note_once", "note_once_async"])
def test_a_guarded_task_does_not_start_when_the_store_is_away(task: str) -> None:
    with pytest.raises(RunNotStarted, match="the store of runs could not be asked"):
        perform(task)
    assert did == []


def test_a_run_that_was_not_started_may_start_later(row: CronRun) -> None:
    with override_settings(DYNCRON={"REPOSITORY": "nowhere"}), pytest.raises(RunNotStarted):
        perform("note_once")
    assert state(row) == ("enqueued", "")
    perform("note_once")
    assert state(row) == ("succeeded", "")
    assert did == [("hello", RUN)]


class FadingRepository(DjangoCronJobRepository):
    def report_end_here(self, run_id: UUID, job_id: str, error: str = "") -> None:
        raise StoreUnavailable("gone")


@override_settings(DYNCRON={"REPOSITORY": f"{__name__}.FadingRepository"})
def test_a_store_that_goes_away_meanwhile_spoils_nothing(
    row: CronRun, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_dyncron.worker._END_PAUSES", (0.0,))
    perform("note")
    assert did == [("hello", RUN)]
    assert warnings(caplog) == [("report_failed", f"Cannot tell how {NAME} ended")]
    assert state(row) == ("running", "")


class BlinkingRepository(DjangoCronJobRepository):
    """Is away once, when the end of a run is told."""

    asked = 0

    def report_end_here(self, run_id: UUID, job_id: str, error: str = "") -> None:
        type(self).asked += 1
        if type(self).asked == 1:
            raise StoreUnavailable("failing over")
        super().report_end_here(run_id, job_id, error)


@override_settings(DYNCRON={"REPOSITORY": f"{__name__}.BlinkingRepository"})
def test_an_end_is_told_again_when_the_store_was_away(
    row: CronRun, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_dyncron.worker._END_PAUSES", (0.0,))
    monkeypatch.setattr(BlinkingRepository, "asked", 0)
    perform("note")
    assert warnings(caplog) == []
    assert state(row) == ("succeeded", "")


class TwoMethods(ICronJobRepository):
    async def get_active_jobs(self) -> list[CronJobDefinition]:
        return []

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        raise AssertionError("That is the scheduler's.")


@override_settings(DYNCRON={"REPOSITORY": f"{__name__}.TwoMethods"})
def test_a_repository_without_runs_is_told_nothing(
    row: CronRun, caplog: pytest.LogCaptureFixture
) -> None:
    perform("note")
    assert did == [("hello", RUN)]
    with pytest.raises(RunNotStarted):
        perform("note_once")
    assert len(did) == 1
    assert state(row) == ("enqueued", "")
    assert warnings(caplog) == []


@pytest.mark.django_db
def test_leaving_twice_is_no_harm() -> None:
    work = Work(RUN)
    work.begin()
    work.leave()
    work.leave()
    assert current_run() is None
