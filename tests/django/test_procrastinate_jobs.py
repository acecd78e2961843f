"""Procrastinate's jobs on PostgreSQL: in the transaction of the claim, and in its worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from procrastinate import App, RetryStrategy, SyncPsycopgConnector
from procrastinate.contrib.django import DjangoApp
from procrastinate.contrib.django.django_connector import DjangoConnector

from django_dyncron import EnqueueNotSent, runs_once
from django_dyncron.core.definitions import Run
from django_dyncron.core.runs import Outcome
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.enqueuers.procrastinate import ProcrastinateTaskEnqueuer
from django_dyncron.enqueuers.procrastinate_worker import GENERIC_TASK as GENERIC
from django_dyncron.enqueuers.procrastinate_worker import set_up
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock
from tests.databases import database_alias
from tests.engines.tasks import note, read_notes, write_note

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

    from tests.servers import PostgresServer

NOTE = "tests.engines.tasks.note"
WORDS = {"path": "/dev/null", "word": "hello"}
RUN = {
    "run_id": "00000000-0000-0000-0000-000000000007",
    "job_id": "morning",
    "scheduled_for": "2026-11-01T05:30:00+00:00",
}


def a_run(task_name: str = NOTE, number: int = 7, **others: Any) -> Run:
    payload = others.pop("payload", WORDS)
    queue = others.pop("queue", "default")
    slot = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    return Run(UUID(int=number), "morning", task_name, payload, queue, slot, **others)


@pytest.fixture
def jobs_app(postgres_alias: str) -> Iterator[App]:
    """An app as that for Django is, on a database that also has the cron jobs."""
    app = DjangoApp(connector=DjangoConnector(alias=postgres_alias))
    app.schema_manager.apply_schema()
    set_up(app)
    with override_settings(
        DYNCRON={"DATABASE": postgres_alias}, PROCRASTINATE_DATABASE_ALIAS=postgres_alias
    ):
        yield app


def rows(alias: str) -> list[tuple[int, str, str]]:
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT id, task_name, status::text FROM procrastinate_jobs ORDER BY id")
        return list(cursor.fetchall())


def work(app: App) -> None:
    """Let a worker empty the queues, here."""
    with app.replace_connector(app.connector.get_worker_connector()):  # type: ignore[attr-defined]
        app.run_worker(wait=False, install_signal_handlers=False, listen_notify=False)


def record(alias: str, run: Run) -> CronRun:
    return CronRun.objects.using(alias).create(
        id=run.run_id, job_id=run.job_id, task_name=run.task_name, status="enqueued"
    )


def test_many_runs_are_one_statement(jobs_app: App, postgres_alias: str) -> None:
    jobs_app.task(name="pack")(lambda box: None)
    enqueuer = ProcrastinateTaskEnqueuer(jobs_app)
    runs = [
        a_run("pack", number, payload={"box": "a"}, queue=f"queue-{number % 3}")
        if number % 2
        else a_run(number=number, options={"priority": number})
        for number in range(100)
    ]
    with CaptureQueriesContext(connections[postgres_alias]) as queries:
        task_ids = enqueuer.enqueue_runs_now(runs)
    assert len(queries) == 1
    names = [GENERIC, "pack"] * 50
    assert rows(postgres_alias) == [
        (int(task_id), name, "todo") for task_id, name in zip(task_ids, names, strict=True)
    ]


def test_the_worker_tells_of_runs_and_of_their_ends(
    jobs_app: App, postgres_alias: str, tmp_path: Path
) -> None:
    file = tmp_path / "notes"

    @jobs_app.task(name="broken", retry=RetryStrategy(max_attempts=2))
    def broken(path: str) -> None:
        write_note(path, "attempt")
        assert CronRun.objects.using(postgres_alias).get().status == "running"
        raise RuntimeError("no box")

    run = a_run("broken", payload={"path": str(file)})
    row = record(postgres_alias, run)
    (task_id,) = ProcrastinateTaskEnqueuer(jobs_app).enqueue_runs_now([run])
    work(jobs_app)
    row.refresh_from_db()
    assert (row.status, row.error, row.task_id) == ("failed", "RuntimeError: no box", task_id)
    assert read_notes(file) == [{"word": "attempt", "run": RUN}] * 3
    assert rows(postgres_alias) == [(int(task_id), "broken", "failed")]


def test_a_retry_that_succeeds_is_the_end(
    jobs_app: App, postgres_alias: str, tmp_path: Path
) -> None:
    file = tmp_path / "notes"

    @jobs_app.task(name="shaky", retry=2)
    async def shaky(path: str) -> None:
        write_note(path, "attempt")
        if len(read_notes(file)) < 2:
            raise RuntimeError("no box")

    run = a_run("shaky", payload={"path": str(file)})
    row = record(postgres_alias, run)
    ProcrastinateTaskEnqueuer(jobs_app).enqueue_runs_now([run])
    work(jobs_app)
    row.refresh_from_db()
    assert (row.status, row.error) == ("succeeded", "")
    assert read_notes(file) == [{"word": "attempt", "run": RUN}] * 2


def test_a_guarded_task_of_the_app_starts_once(
    jobs_app: App, postgres_alias: str, tmp_path: Path
) -> None:
    file = tmp_path / "notes"
    jobs_app.task(name="guarded")(runs_once(note))
    run = a_run("guarded", payload={"path": str(file), "word": "once"})
    row = record(postgres_alias, run)
    ProcrastinateTaskEnqueuer(jobs_app).enqueue_runs_now([run, run, run])
    work(jobs_app)
    row.refresh_from_db()
    assert row.status == "succeeded"
    assert read_notes(file) == [{"word": "once", "run": RUN}]
    assert [status for _, _, status in rows(postgres_alias)] == ["succeeded"] * 3


def test_a_guarded_background_task_that_may_not_start_is_tried_again(
    jobs_app: App, postgres_alias: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "notes")
    runs = [
        a_run("tests.engines.tasks.note_once", payload={"path": path, "word": "once"}),
        a_run("tests.engines.tasks.fail", 8, payload={"path": path, "message": "no ink"}),
    ]
    ProcrastinateTaskEnqueuer(jobs_app).enqueue_runs_now(runs)
    with (
        database_alias("away", "postgresql://postgres@127.0.0.1:1/away"),
        override_settings(DYNCRON={"DATABASE": "away"}),
    ):
        work(jobs_app)
    assert rows(postgres_alias) == [(1, GENERIC, "todo"), (2, GENERIC, "failed")]
    assert [line["word"] for line in read_notes(tmp_path / "notes")] == ["begun"]


class Crashing(ProcrastinateTaskEnqueuer):
    """Dies as soon as the jobs are in, before the transaction is committed."""

    def enqueue_runs_now(self, runs: Any) -> list[str]:
        super().enqueue_runs_now(runs)
        raise KeyboardInterrupt


async def tick(alias: str, enqueuer: ProcrastinateTaskEnqueuer) -> None:
    clock = FakeClock("2030-01-01T12:01:00Z")
    await DynamicScheduler(DjangoCronJobRepository(using=alias), enqueuer, clock=clock).tick()


def add_jobs(alias: str, *jobs: dict[str, Any]) -> None:
    CronJob.objects.using(alias).bulk_create(
        CronJob(
            **{
                "job_id": f"job-{number}",
                "task_name": NOTE,
                "payload": WORDS,
                "cron_expression": "* * * * *",
                "plan_from": datetime(2030, 1, 1, 12, tzinfo=UTC),
                **job,
            }
        )
        for number, job in enumerate(jobs)
    )


@pytest.mark.parametrize("crashes", [True, False])
def test_a_run_is_claimed_and_enqueued_or_neither(
    jobs_app: App, postgres_alias: str, crashes: bool
) -> None:
    add_jobs(postgres_alias, {}, {})
    if crashes:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(tick(postgres_alias, Crashing(jobs_app)))
        assert rows(postgres_alias) == []
        assert not CronRun.objects.using(postgres_alias).exists()
    asyncio.run(tick(postgres_alias, ProcrastinateTaskEnqueuer(jobs_app)))
    runs = CronRun.objects.using(postgres_alias).values_list("status", "task_id")
    task_ids = [str(job_id) for job_id, _, _ in rows(postgres_alias)]
    assert sorted(runs) == sorted(("enqueued", task_id) for task_id in task_ids)
    assert len(task_ids) == 2


async def test_a_run_that_the_queue_refuses_leaves_the_others_alone(
    jobs_app: App, postgres_alias: str
) -> None:
    form = {"options": {"queueing_lock": "form"}}
    await sync_to_async(add_jobs)(postgres_alias, {}, form, form, {})
    await tick(postgres_alias, ProcrastinateTaskEnqueuer(jobs_app))
    runs = CronRun.objects.using(postgres_alias).order_by("job_id")
    statuses = [run.status async for run in runs]
    assert sorted(statuses) == ["enqueued", "enqueued", "enqueued", "failed"]
    assert [statuses[0], statuses[3]] == ["enqueued", "enqueued"]
    (failed,) = [run async for run in runs if run.status == "failed"]
    assert "already a job in the queue with the queueing lock form" in failed.error
    assert len(await sync_to_async(rows)(postgres_alias)) == 3


async def test_jobs_in_a_database_of_their_own(jobs_app: App, postgres_database_url: str) -> None:
    app = App(connector=SyncPsycopgConnector(conninfo=postgres_database_url))
    enqueuer = ProcrastinateTaskEnqueuer(app)
    assert enqueuer.transaction_alias() is None
    attempts = await enqueuer.enqueue_runs([a_run(number=1), a_run(number=2)], lambda: True)
    assert [(attempt.outcome, attempt.task_id) for attempt in attempts] == [
        (Outcome.ENQUEUED, "1"),
        (Outcome.ENQUEUED, "2"),
    ]
    await enqueuer.aclose()
    app.close()


async def test_another_database_of_django_s_than_that_of_the_cron_jobs(
    jobs_app: App, postgres_alias: str
) -> None:
    enqueuer = ProcrastinateTaskEnqueuer(jobs_app)
    (attempt,) = await enqueuer.enqueue_runs([a_run()], lambda: True)
    assert (attempt.outcome, attempt.task_id) == (Outcome.ENQUEUED, "1")
    await enqueuer.aclose()


def test_a_database_of_django_s_that_is_away_was_sent_nothing(
    django_db_blocker: DjangoDbBlocker,
) -> None:
    url = "postgresql://postgres@127.0.0.1:1/away"
    with django_db_blocker.unblock(), database_alias("away", url):
        enqueuer = ProcrastinateTaskEnqueuer(App(connector=DjangoConnector(alias="away")))
        with pytest.raises(EnqueueNotSent, match="refused"):
            async_to_sync(enqueuer.enqueue_run)(a_run())


async def test_a_pool_that_has_lost_its_database_was_sent_nothing(
    disposable_postgres: PostgresServer,
) -> None:
    connector = SyncPsycopgConnector(conninfo=disposable_postgres.url, timeout=0.3, min_size=1)
    with App(connector=connector).open() as app:
        app.schema_manager.apply_schema()
        enqueuer = ProcrastinateTaskEnqueuer(app)
        assert await enqueuer.enqueue_run(a_run()) == "1"
        disposable_postgres.shut_down("immediate")
        with pytest.raises(EnqueueNotSent, match="PoolTimeout"):
            await enqueuer.enqueue_run(a_run())
        await enqueuer.aclose()


@pytest.mark.slow
async def test_a_database_that_is_away_at_first_is_found_later(
    disposable_postgres: PostgresServer,
) -> None:
    connector = SyncPsycopgConnector(conninfo=disposable_postgres.url, timeout=5)
    app = App(connector=connector)
    enqueuer = ProcrastinateTaskEnqueuer(app)
    disposable_postgres.shut_down("fast")
    with pytest.raises(EnqueueNotSent, match="PoolTimeout"):
        await enqueuer.enqueue_run(a_run())
    disposable_postgres.restart()
    with app.open():
        app.schema_manager.apply_schema()
        assert await enqueuer.enqueue_run(a_run()) == "1"
    await enqueuer.aclose()
