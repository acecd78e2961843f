"""The local enqueuer: tasks of this process, each called once, a few at a time."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from django_dyncron.context import CurrentRun, current_run
from django_dyncron.core.exceptions import EnqueueNotSent
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers import local
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.django.local.pool import DAY, SLOT, Journal, a_run, idle, send, until
from tests.shop import tasks


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


async def test_a_line_that_is_too_long_takes_no_more(
    enqueuer: LocalTaskEnqueuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_LONGEST_LINE", 3)
    runs = [a_run("wait", number) for number in range(1, 8)]
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [Outcome.STARTED_HERE] * 5 + [
        Outcome.NOT_SENT
    ] * 2
    assert attempts[-1].error == "There are 3 runs waiting for the local enqueuer."
    assert len(enqueuer.in_hand()) == 5
    with pytest.raises(EnqueueNotSent, match="3 runs waiting"):
        await enqueuer.enqueue_task("tests.shop.tasks.wait", {}, "default")
    tasks.gate.set()
    await idle(enqueuer)
    assert await send(enqueuer, runs[6]) == [Outcome.STARTED_HERE]


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


async def test_a_task_by_hand_needs_no_journal(caplog: pytest.LogCaptureFixture) -> None:
    enqueuer = LocalTaskEnqueuer()
    await enqueuer.enqueue_task("tests.shop.tasks.build_report", DAY, "anything")
    await enqueuer.enqueue_task("tests.shop.tasks.fail", {}, "anything")
    assert list(enqueuer.in_hand()) == []
    assert await enqueuer.drain(timedelta(seconds=10)) == []
    await enqueuer.aclose()
    assert tasks.runs == [None]
    assert caplog.messages[-1].endswith(" of tests.shop.tasks.fail failed")


@pytest.mark.parametrize("max_workers", [0, -1, 1.5, True, "4", None])
def test_a_pool_needs_at_least_one_worker(max_workers: Any) -> None:
    with pytest.raises(ValueError, match="max_workers must be a whole number above 0"):
        LocalTaskEnqueuer(max_workers)
