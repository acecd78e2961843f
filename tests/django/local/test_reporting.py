"""How local runs end, and how that is written down: whatever the error, however long it takes."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueNotSent
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.django.local.pool import DAY, Journal, a_run, idle, send, until
from tests.shop import tasks


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


async def test_a_run_that_is_somebody_else_s_is_not_called(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    journal.lost = {"job-1"}
    await send(enqueuer, a_run("ping", url="/"))
    await idle(enqueuer)
    assert tasks.calls == []
    assert journal.events == [("start", "job-1", "")]


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
async def test_how_a_run_ended_is_written_however_long_the_database_is_away(
    enqueuer: LocalTaskEnqueuer, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    await send(enqueuer, a_run("wait"))
    await until(tasks.arrived.is_set)
    journal.failures = 200
    tasks.gate.set()
    await idle(enqueuer)
    assert journal.events == [("start", "job-1", ""), ("finish", "job-1", "")]
    assert len(caplog.records) == 200
    assert caplog.records[-1].exc_info is not None


@pytest.mark.usefixtures("_impatient")
async def test_an_end_that_cannot_be_written_at_all_is_given_up(
    enqueuer: LocalTaskEnqueuer,
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def refuse(run: Run, error: str = "") -> None:
        raise ValueError("no such column")

    monkeypatch.setattr(journal, "finish", refuse)
    await send(enqueuer, a_run("build_report", **DAY))
    await idle(enqueuer)
    actions = [record.action for record in caplog.records]  # type: ignore[attr-defined]
    assert actions == ["journal_retried"] * 9 + ["journal_failed"]


@pytest.mark.usefixtures("_impatient")
async def test_draining_does_not_wait_for_a_database_for_ever(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    run = a_run("wait")
    await send(enqueuer, run)
    await until(tasks.arrived.is_set)
    journal.failures = 1_000_000
    tasks.gate.set()
    await until(lambda: tasks.calls == [("wait", None)])
    assert await enqueuer.drain(timedelta(seconds=0.05)) == [run]
    await idle(enqueuer)


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
