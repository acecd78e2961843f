"""What the worker of django-tasks-db makes of runs, and what it tells of them."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings

from django_dyncron.context import CurrentRun, current_run
from django_dyncron.core.definitions import Run
from django_dyncron.enqueuers.django_tasks import DjangoTasksEnqueuer
from django_dyncron.models import CronRun
from tests.depot import tasks as depot
from tests.django.task_rows.rows import (
    GENERIC,
    NATIVE,
    PACK,
    SLOT,
    a_run,
    enqueue,
    results,
    rows,
    work,
)
from tests.engines.tasks import read_notes
from tests.shop import tasks as shop


def test_the_worker_runs_background_tasks_as_their_run() -> None:
    enqueuer = DjangoTasksEnqueuer()
    enqueuer.enqueue_runs_now(
        [
            a_run(queue="reports", number=1),
            a_run("tests.shop.tasks.ping", number=2, payload={"url": "/"}),
            a_run(PACK, number=3, payload={"box": "a", "count": 2}),
            a_run("tests.depot.tasks.ship", number=4, payload={"box": "b"}),
        ]
    )
    assert shop.calls == []
    work()
    assert shop.calls == [("build_report", ("2026-11-01", False)), ("ping", "/")]
    assert shop.runs == [CurrentRun(UUID(int=number), "morning", SLOT) for number in (1, 2)]
    assert depot.calls == [("a", 2), ("b", 1)]
    assert results() == [
        (GENERIC, "reports", "SUCCESSFUL"),
        (GENERIC, "default", "SUCCESSFUL"),
        (PACK, "default", "SUCCESSFUL"),
        ("tests.depot.tasks.ship", "default", "SUCCESSFUL"),
    ]


def test_an_enqueue_from_an_event_loop_reaches_the_worker() -> None:
    run = a_run(options={"priority": 7})
    task_id = async_to_sync(DjangoTasksEnqueuer().enqueue_run)(run)
    assert task_id == "00000000-0000-0000-0000-000000000007"
    work()
    assert shop.runs == [CurrentRun(UUID(int=7), "morning", SLOT)]
    assert results() == [(GENERIC, "default", "SUCCESSFUL")]


def test_the_worker_refuses_what_it_may_not_run() -> None:
    with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*"]}):
        DjangoTasksEnqueuer().enqueue_runs_now([a_run("tests.shop.tasks.restock", payload={})])
    work()
    assert shop.calls == []
    assert results() == [(GENERIC, "default", "FAILED")]


def recorded(run: Run) -> CronRun:
    return CronRun.objects.create(
        id=run.run_id, job_id=run.job_id, task_name=run.task_name, status="enqueued"
    )


@pytest.mark.parametrize("task", ["note", "note_async", "note_in_context"])
def test_task_objects_know_their_run_and_tell_its_end(task: str, tmp_path: Path) -> None:
    run = a_run(f"{NATIVE}.{task}", payload={"path": str(tmp_path / "notes"), "word": "own"})
    row = recorded(run)
    enqueue(run)
    work()
    row.refresh_from_db()
    assert (row.status, row.error, row.task_id) == ("succeeded", "", str(row.id))
    assert row.started_at is not None
    assert row.finished_at is not None
    told = CurrentRun(run.run_id, "morning", SLOT).as_json()
    assert read_notes(tmp_path / "notes") == [{"word": "own", "run": told}]
    assert current_run() is None


def test_a_task_object_that_fails_tells_why(tmp_path: Path) -> None:
    run = a_run(f"{NATIVE}.fail", payload={"path": str(tmp_path / "notes"), "message": "no\nink"})
    row = recorded(run)
    enqueue(run)
    work()
    row.refresh_from_db()
    assert (row.status, row.error) == ("failed", "RuntimeError: no ink")
    assert results() == [(f"{NATIVE}.fail", "default", "FAILED")]


def test_a_guarded_task_object_starts_once(tmp_path: Path) -> None:
    run = a_run(f"{NATIVE}.note_once", payload={"path": str(tmp_path / "notes"), "word": "once"})
    row = recorded(run)
    enqueue(run)
    work()
    rows()[0].delete()
    enqueue(run)
    work()
    row.refresh_from_db()
    assert row.status == "succeeded"
    assert [line["word"] for line in read_notes(tmp_path / "notes")] == ["once"]
    assert results() == [(f"{NATIVE}.note_once", "default", "SUCCESSFUL")]


def test_a_task_of_nobody_s_run_is_left_alone(tmp_path: Path) -> None:
    async_to_sync(DjangoTasksEnqueuer().enqueue_task)(
        f"{NATIVE}.note", {"path": str(tmp_path / "notes"), "word": "own"}, "default"
    )
    work()
    assert read_notes(tmp_path / "notes") == [{"word": "own", "run": None}]
