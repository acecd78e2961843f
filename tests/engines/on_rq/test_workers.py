"""What RQ's own workers make of a run: retries, time limits, deliveries after a worker's death."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.test import modify_settings, override_settings
from redis import Redis
from rq import Queue, SimpleWorker
from rq.job import Job

from django_dyncron.core.definitions import Run
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers.rq import RqTaskEnqueuer
from django_dyncron.enqueuers.rq_worker import run_task
from django_dyncron.models import CronJob, CronRun
from tests.engines.tasks import read_notes
from tests.integration.cluster import Cluster

pytestmark = pytest.mark.django_db(transaction=True)

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
TASKS = "tests.engines.on_rq.tasks"
JSON = "rq.serializers.JSONSerializer"
_numbers = count(1)


@pytest.fixture(autouse=True)
def _project(redis_url: str) -> Iterator[None]:
    queues = {name: {"URL": redis_url} for name in ("default", "slow")}
    with (
        override_settings(RQ_QUEUES=queues, DYNCRON={"ENQUEUER": "rq"}),
        modify_settings(INSTALLED_APPS={"append": ["tests.engines", "tests.engines.on_rq"]}),
    ):
        yield


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        yield client


def words(notes: Path) -> list[str]:
    return [line["word"] for line in read_notes(notes)]


def enqueued(
    task_name: str, payload: dict[str, Any], enqueuer: RqTaskEnqueuer | None = None, **options: Any
) -> CronRun:
    """Record a run and hand it to RQ, as a scheduler does."""
    number = next(_numbers)
    values = {"task_name": task_name, "payload": payload, "options": options}
    values |= {"job_id": f"job-{number}", "scheduled_for": SLOT}
    CronJob.objects.create(job_id=f"job-{number}", task_name=task_name, cron_expression="0 0 1 1 *")
    row = CronRun.objects.create(id=UUID(int=number), status="enqueued", **values)
    run = Run(run_id=row.id, queue="default", **values)
    enqueuer = enqueuer or RqTaskEnqueuer()

    async def send() -> None:
        (attempt,) = await enqueuer.enqueue_runs([run], lambda: True)
        assert attempt.outcome is Outcome.ENQUEUED, attempt.error
        await enqueuer.aclose()

    async_to_sync(send)()
    return row


def work(client: Redis, **options: Any) -> None:
    """Let a worker of RQ empty the queue, here; it leaves its signal handlers."""
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        worker = SimpleWorker([Queue("default", connection=client)], connection=client)
        worker.work(burst=True, logging_level="ERROR", **options)
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)


def story(row: CronRun) -> tuple[str, str]:
    row.refresh_from_db()
    return row.status, row.error


def test_a_retry_of_rq_is_no_end(client: Redis, notes: Path) -> None:
    row = enqueued(f"{TASKS}.fail_twice", {"path": str(notes)})
    work(client, max_jobs=1)
    assert story(row) == ("running", "")
    work(client)
    assert story(row) == ("succeeded", "")
    assert [line["run"]["run_id"] for line in read_notes(notes)] == [str(row.id)] * 3
    assert Job.fetch(str(row.id), connection=client).return_value() == "done"


def test_the_last_retry_is_an_end(client: Redis, notes: Path) -> None:
    row = enqueued("tests.engines.tasks.fail", {"path": str(notes), "message": "no ink"}, retry=2)
    work(client, max_jobs=2)
    assert story(row) == ("running", "")
    work(client)
    assert story(row) == ("failed", "RuntimeError: no ink")
    assert words(notes) == ["begun"] * 3


def test_a_job_may_ask_for_a_retry(client: Redis, notes: Path) -> None:
    row = enqueued(f"{TASKS}.ask_twice", {"path": str(notes)})
    work(client, max_jobs=1)
    assert story(row) == ("running", "")
    work(client)
    assert story(row) == ("succeeded", "")
    assert words(notes) == ["begun"] * 3


def test_a_job_that_asks_too_often_has_failed(client: Redis, notes: Path) -> None:
    row = enqueued(f"{TASKS}.ask_for_ever", {"path": str(notes)})
    work(client)
    assert story(row) == ("failed", "It asked for a retry, after 1.")
    assert Job.fetch(str(row.id), connection=client).get_status() == "failed"
    assert words(notes) == ["begun"] * 2


def test_a_task_that_starts_once_is_not_retried(client: Redis, notes: Path) -> None:
    payload = {"path": str(notes), "message": "no ink"}
    row = enqueued("tests.engines.on_rq.tasks.fail_once", payload, retry=2)
    work(client)
    assert story(row) == ("failed", "RuntimeError: no ink")
    assert words(notes) == ["begun"]


def test_the_time_limit_is_rq_s(client: Redis, notes: Path) -> None:
    row = enqueued(f"{TASKS}.sleep", {"path": str(notes)})
    work(client)
    status, error = story(row)
    assert status == "failed"
    assert error == "JobTimeoutException: Task exceeded maximum timeout value (1 seconds)"
    assert (row.finished_at - row.started_at).total_seconds() < 10


def test_an_async_task_has_a_time_limit_too(client: Redis, notes: Path) -> None:
    row = enqueued(f"{TASKS}.sleep_async", {"path": str(notes)}, timeout=1)
    work(client)
    assert story(row)[1].startswith("JobTimeoutException: Task exceeded maximum timeout value (1")
    assert words(notes) == ["begun"]


def test_a_run_that_rq_delivers_again_starts_once_where_asked(client: Redis, notes: Path) -> None:
    payload = {"path": str(notes), "word": "once"}
    row = enqueued("tests.engines.tasks.note_once", payload)
    for _ in range(3):
        work(client)
        # So does RQ with the jobs of a worker that has died.
        Queue("default", connection=client).push_job_id(str(row.id))
    assert words(notes) == ["once"]
    assert Path(f"{notes}.delivered").read_text().splitlines() == ["once"] * 3
    assert story(row) == ("succeeded", "")


def test_a_run_whose_task_may_not_be_run_here_has_failed(client: Redis, notes: Path) -> None:
    row = enqueued(f"{TASKS}.note", {"path": str(notes), "word": "x"})
    with modify_settings(INSTALLED_APPS={"remove": ["tests.engines.on_rq"]}):
        work(client)
    status, error = story(row)
    assert status == "failed"
    assert "not a registered task" in error
    assert words(notes) == []


def test_other_jobs_of_the_worker_have_no_run(client: Redis, notes: Path) -> None:
    enqueued(f"{TASKS}.note", {"path": str(notes), "word": "run"})
    queue = Queue("default", connection=client)
    queue.enqueue(f"{TASKS}.note", path=str(notes), word="plain job")
    by_hand = {"task_name": f"{TASKS}.note", "payload": {"path": str(notes), "word": "by hand"}}
    queue.enqueue(run_task, **by_hand)
    work(client)
    assert words(notes) == ["run", "plain job", "by hand"]
    assert [line["run"] is None for line in read_notes(notes)] == [False, True, True]


@pytest.mark.parametrize(
    "settings, command",
    [
        ("settings", ("-m", "django", "rqworker", "default", "--burst")),
        ("plain_settings", ("-m", "rq.cli", "worker", "--serializer", JSON, "--burst", "--url")),
    ],
    ids=["django-rq", "rq"],
)
def test_workers_that_fork(
    settings: str,
    command: tuple[str, ...],
    redis_url: str,
    notes: Path,
    tmp_path: Path,
    database_url: str,
    process_environment: Callable[[str], dict[str, str]],
) -> None:
    is_plain = settings == "plain_settings"
    enqueuer = RqTaskEnqueuer(redis_url, serializer=JSON) if is_plain else RqTaskEnqueuer()
    payload = {"path": str(notes), "word": "Grüße, 雪"}
    row = enqueued("tests.engines.tasks.note_async", payload, enqueuer)
    environment = process_environment(database_url) | {
        "DJANGO_SETTINGS_MODULE": f"tests.engines.on_rq.{settings}",
        "DYNCRON_TEST_QUEUE_URL": redis_url,
    }
    with closing(Cluster("default", tmp_path, environment)) as cluster:
        worker = cluster.start_other("worker", *command, *([redis_url] if is_plain else []))
        assert worker.exit_code() == 0, worker.output
    assert story(row) == ("succeeded", ""), worker.output
    assert words(notes) == ["Grüße, 雪"]
    assert "tests.engines.tasks.note_async(...)" in worker.output
    assert "Grüße" not in worker.output
