"""What every queue promises, each with its real worker: who runs, with what, and what is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from django_dyncron.models import CronRun
from tests.engines.engine import Engine
from tests.engines.tasks import read_notes
from tests.integration.cluster import wait_until
from tests.integration.lines import read_lines

TASKS = "tests.engines.tasks"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The file that the tasks of this test write to."""
    return tmp_path / "notes"


def _assert_succeeded(engine: Engine, run: CronRun) -> None:
    assert run.error == ""
    assert run.created_at <= run.enqueued_at <= run.finished_at
    assert run.started_at <= run.finished_at
    assert run.lease_until is None
    assert run.attempts == 1
    assert run.task_id == str(run.id) if engine.takes_run_ids else run.task_id != ""
    assert engine.cluster.jobs.get(job_id=run.job_id).last_error == ""


@pytest.mark.parametrize("task", ["note", "note_async"])
def test_a_background_task_gets_its_arguments_and_knows_its_run(
    engine: Engine, task: str, notes: Path
) -> None:
    job_id = engine.add(f"{TASKS}.{task}", {"path": str(notes), "word": "Grüße, 雪"})

    run = engine.wait_for(job_id, "succeeded")

    assert read_notes(notes) == [{"word": "Grüße, 雪", "run": engine.identity(run)}]
    _assert_succeeded(engine, run)


def test_a_task_of_the_queue_s_own_kind(engine: Engine, notes: Path) -> None:
    job_id = engine.add(engine.native_task, {"path": str(notes), "word": "own"})

    wait_until(lambda: read_notes(notes), 15, lambda: engine.output)

    run = engine.run_of(job_id)
    if engine.tells_native_tasks:
        run = engine.wait_for(job_id, "succeeded")
        _assert_succeeded(engine, run)
    else:
        run = engine.wait_for(job_id, "enqueued")
    identity = engine.identity(run) if engine.tells_native_tasks else None
    assert read_notes(notes) == [{"word": "own", "run": identity}]


def test_a_run_is_enqueued_then_running_then_done(engine: Engine, notes: Path) -> None:
    until = notes.with_name("until")
    job_id = engine.add(f"{TASKS}.hold", {"path": str(notes), "until": str(until)})

    wait_until(lambda: read_notes(notes), 15, lambda: engine.output)
    running = engine.wait_for(job_id, "running")
    assert running.enqueued_at is not None
    assert running.started_at is not None
    assert running.finished_at is None
    until.touch()

    run = engine.wait_for(job_id, "succeeded")
    assert run.started_at == running.started_at
    assert [line["word"] for line in read_notes(notes)] == ["begun", "ended"]
    _assert_succeeded(engine, run)


def test_a_task_that_fails(engine: Engine, notes: Path) -> None:
    job_id = engine.add(f"{TASKS}.fail", {"path": str(notes), "message": "out of paper"})

    run = engine.wait_for(job_id, "failed")

    assert run.error == "RuntimeError: out of paper"
    assert run.started_at is not None
    assert run.finished_at is not None
    assert engine.cluster.jobs.get(job_id=job_id).last_error == "RuntimeError: out of paper"
    assert read_notes(notes) == [{"word": "begun", "run": engine.identity(run)}]


def test_a_task_of_the_queue_s_own_kind_that_fails(engine: Engine, notes: Path) -> None:
    payload = {"path": str(notes), "message": "out of ink"}
    job_id = engine.add(engine.native_failing_task, payload)

    wait_until(lambda: read_notes(notes), 15, lambda: engine.output)

    if engine.tells_native_tasks:
        run = engine.wait_for(job_id, "failed")
        assert run.error == "RuntimeError: out of ink"
        assert run.finished_at is not None
    else:
        engine.wait_for(job_id, "enqueued")
    assert len(read_notes(notes)) == 1


def test_the_options_of_a_job(engine: Engine, notes: Path) -> None:
    payload = {"path": str(notes), "word": "with options"}
    tasks = [f"{TASKS}.note", engine.native_task]
    jobs = [{"task_name": task, "payload": payload, "options": engine.options} for task in tasks]

    engine.add_together(jobs)

    wait_until(lambda: len(read_notes(notes)) == 2, 15, lambda: engine.output)


def test_what_is_wrong_is_told_on_its_run_and_stops_no_other(engine: Engine, notes: Path) -> None:
    right = {"task_name": f"{TASKS}.note", "payload": {"path": str(notes), "word": "right"}}
    wrong = [
        {**right, "task_name": "tests.engines.tasks.no_such_task"},
        {**right, "task_name": "os.system", "payload": {"command": "exit"}},
        {**right, "payload": {"path": str(notes)}},
        {**right, "payload": {"path": str(notes), "word": "", "more": 1}},
        {**right, "task_name": engine.native_task, "payload": {"word": "no path"}},
        {**right, "options": {"no_such_option": 1}},
    ]
    if engine.knows_queues:
        wrong.append({**right, "queue": "no_such_queue"})

    *refused, job_id = engine.add_together([*wrong, right])

    run = engine.wait_for(job_id, "succeeded")
    assert read_notes(notes) == [{"word": "right", "run": engine.identity(run)}]
    hints = ["no_such_task", "os.system", "word", "more", "path", "no_such_option", "no_such_queue"]
    for wrong_id, hint in zip(refused, hints, strict=False):
        run = engine.wait_for(wrong_id, "failed")
        assert hint in run.error
        assert run.enqueued_at is None
        assert run.finished_at is not None
        assert engine.cluster.jobs.get(job_id=wrong_id).last_error == run.error


def test_many_runs_of_one_tick(engine: Engine, notes: Path) -> None:
    job = {"task_name": f"{TASKS}.note", "payload": {"path": str(notes), "word": "one of many"}}
    mine = [job, {**job, "task_name": engine.native_task}] * 30

    job_ids = engine.add_together(mine)

    wait_until(lambda: len(read_notes(notes)) == 60, 20, lambda: engine.output)
    ids = {line["run"]["run_id"] for line in read_notes(notes) if line["run"]}
    runs = engine.cluster.runs.filter(job_id__in=job_ids)
    told = set(map(str, runs.values_list("id", flat=True)))
    assert runs.count() == 60
    assert ids == told if engine.tells_native_tasks else ids < told
    assert runs.exclude(error="").count() == 0


def test_a_run_handed_over_four_times_starts_once_where_asked(engine: Engine, notes: Path) -> None:
    job_id = engine.add(f"{TASKS}.note_once", {"path": str(notes), "word": "once"})
    run = engine.wait_for(job_id, "succeeded")

    engine.run_again(run, 3)

    delivered = notes.with_name("notes.delivered")
    wait_until(lambda: len(read_lines(delivered)) == 4, 15, lambda: engine.output)
    last = engine.add(f"{TASKS}.note", {"path": str(notes), "word": "last"})
    last_run = engine.wait_for(last, "succeeded")
    assert [line["word"] for line in read_notes(notes)] == ["once", "last"]
    again = engine.run_of(job_id)
    assert again.status == "succeeded"
    assert (again.started_at, again.finished_at) == (run.started_at, run.finished_at)
    assert last_run.finished_at is not None
