"""What Celery alone does to a task, as the history of its run tells it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
import redis
from celery import Celery

from tests.engines.engine import Engine
from tests.engines.on_celery.engine import worker_command
from tests.engines.tasks import read_notes
from tests.integration.cluster import wait_until

pytestmark = pytest.mark.parametrize("engine", ["celery"], indirect=True)

TASKS = "tests.engines.on_celery.tasks"
HOLD = "tests.engines.tasks.hold"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def words(notes: Path) -> list[str]:
    return [line["word"] for line in read_notes(notes)]


def app_of(engine: Engine) -> Celery:
    url = engine.cluster.environment["DYNCRON_TEST_QUEUE_URL"]
    return Celery("test", broker=url, backend=url, set_as_current=False)


def test_a_retry_is_no_end(engine: Engine, notes: Path) -> None:
    job_id = engine.add(f"{TASKS}.retry", {"path": str(notes), "times": 2})

    run = engine.wait_for(job_id, "succeeded")

    assert words(notes) == ["attempt 1", "attempt 2", "attempt 3"]
    assert [line["run"] for line in read_notes(notes)] == [engine.identity(run)] * 3
    assert run.error == ""


def test_the_last_retry_that_fails_is_the_end(engine: Engine, notes: Path) -> None:
    job_id = engine.add(f"{TASKS}.retry", {"path": str(notes), "times": 3})

    run = engine.wait_for(job_id, "failed")

    assert words(notes) == ["attempt 1", "attempt 2", "attempt 3"]
    assert run.error == "RuntimeError: not yet"


def test_a_task_that_starts_once_fails_rather_than_be_tried_again(
    engine: Engine, notes: Path
) -> None:
    job_id = engine.add(f"{TASKS}.retry_once", {"path": str(notes)})

    run = engine.wait_for(job_id, "failed")

    wait_until(lambda: engine.worker.output.count(f"retry_once[{run.id}] succeeded") == 1, 5)
    assert words(notes) == ["attempt 1"]
    assert engine.run_of(job_id).error == "RuntimeError: not yet"


def test_a_task_that_wants_no_state_has_ended_well(engine: Engine, notes: Path) -> None:
    job_id = engine.add(f"{TASKS}.ignore", {"path": str(notes)})

    assert engine.wait_for(job_id, "succeeded").error == ""


def test_a_message_put_back_is_no_end_and_one_thrown_away_is(engine: Engine, notes: Path) -> None:
    job_id = engine.add(f"{TASKS}.reject", {"path": str(notes)})

    run = engine.wait_for(job_id, "failed")

    assert words(notes) == ["first", "again"]
    assert "no such customer" in run.error


def test_a_guarded_task_waits_for_the_store(engine: Engine, notes: Path) -> None:
    engine.worker.send(signal.SIGSTOP)
    try:
        payload = {"path": str(notes), "word": "once"}
        job_id = engine.add("tests.engines.tasks.note_once", payload)
        run = engine.wait_for(job_id, "enqueued")
        engine.cluster.sql("ALTER TABLE django_dyncron_cronrun RENAME COLUMN error TO mistake")
    finally:
        engine.worker.send(signal.SIGCONT)
    try:
        wait_until(lambda: "the store of runs could not be asked" in engine.worker.output, 15)
    finally:
        engine.cluster.sql("ALTER TABLE django_dyncron_cronrun RENAME COLUMN mistake TO error")

    assert engine.wait_for(job_id, "succeeded").id == run.id
    assert words(notes) == ["once"]


def test_a_soft_time_limit(engine: Engine, notes: Path) -> None:
    options = {"soft_time_limit": 0.3}
    job_id = engine.add(f"{TASKS}.sleep", {"path": str(notes)}, options=options)

    run = engine.wait_for(job_id, "failed")

    assert words(notes) == ["asleep", "woken"]
    assert run.error.startswith("SoftTimeLimitExceeded")


@pytest.mark.parametrize("task", [f"{TASKS}.sleep", HOLD])
def test_a_hard_time_limit(engine: Engine, task: str, notes: Path) -> None:
    payload = {"path": str(notes)} | ({"until": "/never"} if task == HOLD else {})
    job_id = engine.add(task, payload, options={"time_limit": 0.5})

    run = engine.wait_for(job_id, "failed")

    assert len(words(notes)) == 1
    assert run.error == "TimeLimitExceeded: TimeLimitExceeded(0.5,)"
    assert run.started_at is not None


@pytest.mark.parametrize("task", ["die", "leave"])
def test_a_process_that_is_gone(engine: Engine, task: str, notes: Path) -> None:
    job_id = engine.add(f"{TASKS}.{task}", {"path": str(notes)})

    # A process that ends of its own accord tells of it, and then the main process does.
    engine.wait_for(job_id, "failed")
    wait_until(lambda: engine.run_of(job_id).error.startswith("WorkerLostError: Worker exited"), 5)

    assert len(words(notes)) == 1


def test_a_task_that_expires_before_a_worker_takes_it(engine: Engine, notes: Path) -> None:
    engine.worker.send(signal.SIGSTOP)
    try:
        payload = {"path": str(notes), "word": "late"}
        job_id = engine.add("tests.engines.tasks.note", payload, options={"expires": 0.1})
        engine.wait_for(job_id, "enqueued")
        time.sleep(0.2)
    finally:
        engine.worker.send(signal.SIGCONT)

    assert engine.wait_for(job_id, "failed").error == "The task expired."
    assert words(notes) == []


def test_a_task_that_somebody_ends(engine: Engine, notes: Path) -> None:
    job_id = engine.add(f"{TASKS}.sleep", {"path": str(notes)})
    run = engine.wait_for(job_id, "running")
    with app_of(engine) as app:
        app.control.revoke(str(run.id), terminate=True)

    assert engine.wait_for(job_id, "failed").error == "The task was terminated."


def test_results_are_kept_and_nobody_listens_for_them(engine: Engine) -> None:
    job_id = engine.add(f"{TASKS}.answer", {})
    run = engine.wait_for(job_id, "succeeded")

    with app_of(engine) as app:
        wait_until(lambda: app.AsyncResult(str(run.id)).state == "SUCCESS", 5)
        assert app.AsyncResult(str(run.id)).result == {"answer": 42}
    url = engine.cluster.environment["DYNCRON_TEST_QUEUE_URL"]
    with redis.Redis.from_url(url) as client:
        assert [name for name in client.pubsub_channels() if b"celery-task-meta" in name] == []


def test_results_that_a_job_does_without(engine: Engine) -> None:
    job_id = engine.add(f"{TASKS}.answer", {}, options={"ignore_result": True})
    run = engine.wait_for(job_id, "succeeded")

    with app_of(engine) as app:
        assert app.AsyncResult(str(run.id)).state == "PENDING"


def test_other_pools(engine: Engine, notes: Path) -> None:
    pools = ("threads", "solo")
    workers = [
        engine.cluster.start_other(f"{pool}-worker", *worker_command(pool, "--pool", pool))
        for pool in pools
    ]
    for pool in pools:
        jobs = [
            {"task_name": "tests.engines.tasks.note", "payload": {"path": str(notes), "word": "a"}},
            {"task_name": f"{TASKS}.note", "payload": {"path": str(notes), "word": "b"}},
            {"task_name": "celery-fail", "payload": {"path": str(notes), "message": "c"}},
        ]
        *good, bad = engine.add_together([{**job, "queue": pool} for job in jobs])

        for job_id in good:
            run = engine.wait_for(job_id, "succeeded")
            assert engine.identity(run) in [line["run"] for line in read_notes(notes)]
        assert engine.wait_for(bad, "failed").error == "RuntimeError: c"
    assert [worker.stop() for worker in workers] == [0, 0]


@pytest.mark.slow
def test_a_worker_that_is_told_to_end_at_once(engine: Engine, notes: Path) -> None:
    worker = engine.cluster.start_other("cold-worker", *worker_command("threads"))
    job_id = engine.add(f"{TASKS}.sleep", {"path": str(notes)}, queue="threads")
    engine.wait_for(job_id, "running")

    worker.send(signal.SIGQUIT)
    worker.exit_code()

    assert engine.wait_for(job_id, "failed").error == "The task was terminated."
