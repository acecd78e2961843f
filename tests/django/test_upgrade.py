"""An upgrade from each release: what was there is there, and goes on where it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader

import django_dyncron
from django_dyncron import DynamicScheduler, TickResult
from django_dyncron.models import CronJob, CronLock, CronRun, Pause, Replica
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock, RecordingEnqueuer
from tests.databases import database_alias
from tests.upgrades import APP, migrations, releases, restore

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

    from tests.servers import PostgresServer

pytestmark = pytest.mark.django_db

MODELS = (CronJob, CronLock, CronRun, Pause, Replica)
TABLES = [model._meta.db_table for model in MODELS]
STOPPED = ["ended", "broken", "paused"]
"""The recorded jobs that run no more."""


@pytest.fixture
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a database with nothing in it, of the kind of ``default``."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{tmp_path / 'old.sqlite3'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = f"dyncron_old_{os.getpid()}"
    yield server.create_database(name)
    server.drop_database(name)


@pytest.fixture(params=releases())
def old(
    request: pytest.FixtureRequest,
    empty_database_url: str,
    tmp_path: Path,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[str]:
    """Alias of a database as a release left it."""
    with django_db_blocker.unblock(), database_alias(tmp_path.name, empty_database_url) as alias:
        restore(request.param, alias)
        yield alias


def upgrade(alias: str) -> None:
    call_command("migrate", database=alias, verbosity=0)


def content(alias: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table, whatever its columns are."""
    with connections[alias].cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def tick(alias: str, moment: str) -> tuple[list[tuple[str, str]], TickResult]:
    """Let a scheduler of this version tick once; return what it enqueued."""

    async def ticked() -> tuple[list[tuple[str, str]], TickResult]:
        queue = RecordingEnqueuer()
        scheduler = DynamicScheduler(
            DjangoCronJobRepository(alias),
            queue,
            enqueuers={"default": queue},
            clock=FakeClock(moment),
            replica_id="new",
        )
        try:
            result = await scheduler.tick()
            return queue.slots, result
        finally:
            await scheduler.aclose()

    found: tuple[list[tuple[str, str]], TickResult] = async_to_sync(ticked)()
    return found


def test_a_patch_release_brings_no_migration() -> None:
    """Its schedulers run beside those of the release before it."""
    series = django_dyncron.__version__.rpartition(".")[0]
    present = {name for app, name in MigrationLoader(None).disk_migrations if app == APP}
    of_series = [release for release in releases() if release.rpartition(".")[0] == series]
    assert {release: set(migrations(release)) for release in of_series} == dict.fromkeys(
        of_series, present
    )


def test_every_row_is_kept(old: str) -> None:
    before = {table: content(old, table) for table in TABLES}
    assert [table for table in TABLES if not before[table]] == []
    upgrade(old)
    for table in TABLES:
        after = content(old, table)
        kept = [
            {name: row[name] for name in was} for was, row in zip(before[table], after, strict=True)
        ]
        assert kept == before[table]


def test_the_schema_is_the_one_of_a_new_database(old: str) -> None:
    upgrade(old)
    assert _schema(old) == _schema("default")


def test_every_row_can_be_read(old: str) -> None:
    upgrade(old)
    assert [model for model in MODELS if not list(model.objects.using(old))] == []
    job = CronJob.objects.using(old).get(job_id="tomorrow")
    assert (job.misfire_policy, job.max_catch_up, job.options) == ("fire_all", 7, {"priority": 3})
    run = CronRun.objects.using(old).get(job_id="report", scheduled_for=_at("2026-11-30T12:00"))
    assert (run.status, run.payload) == ("succeeded", {"full": True, "to": "Jörg"})


def test_what_is_due_runs_and_what_ran_does_not(old: str) -> None:
    """``overdue`` was missed, ``held`` was left by the old replica, ``again`` ran already."""
    upgrade(old)
    enqueued, result = tick(old, "2026-11-30T12:02:10Z")
    assert sorted(enqueued) == [("held", "2026-11-30T11:59Z"), ("overdue", "2026-11-30T12:01Z")]
    assert result.failed == 0
    again, _ = tick(old, "2026-11-30T12:03:10Z")
    assert again == []
    slots = CronRun.objects.using(old).filter(job_id="again").values_list("scheduled_for", "status")
    assert list(slots) == [(_at("2026-11-30T12:00"), "enqueued")]


def test_every_job_is_planned(old: str) -> None:
    upgrade(old)
    tick(old, "2026-11-30T12:02:10Z")
    jobs = CronJob.objects.using(old)
    assert dict(jobs.exclude(job_id__in=STOPPED).values_list("job_id", "due_at")) == {
        "report": _at("2026-11-30T12:05"),
        "tomorrow": _at("2026-12-01T06:00"),
        "overdue": _at("2026-12-01T12:01"),
        "again": _at("2026-12-01T12:00"),
        "held": _at("2026-12-01T11:59"),
        "new": _at("2026-11-30T13:00"),
    }
    assert set(jobs.filter(job_id__in=STOPPED).values_list("due_at", flat=True)) == {None}
    assert jobs.get(job_id="broken").is_broken


def _at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}Z")


def _schema(alias: str) -> dict[str, Any]:
    """Return columns and constraints of every table, without the order of the columns."""
    introspection = connections[alias].introspection
    found: dict[str, Any] = {}
    with connections[alias].cursor() as cursor:
        for table in TABLES:
            columns = introspection.get_table_description(cursor, table)
            constraints = introspection.get_constraints(cursor, table)
            found[table] = (
                {column.name: tuple(column) for column in columns},
                sorted(str(sorted(each.items())) for each in constraints.values()),
            )
    return found
