"""The system check that reads the table of cron jobs: one warning for each that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import Tags, Warning, run_checks  # noqa: A004
from django.core.management import call_command
from django.db import connection, connections
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from django_dyncron import CronJobDefinition, ICronJobRepository
from django_dyncron.checks import check_cron_jobs
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from django_dyncron.models import CronJob
from tests.databases import database_alias
from tests.shop import tasks  # noqa: F401 - registers what the jobs name

W005 = "django_dyncron.W005"
FINE = {
    "job_id": "report",
    "task_name": "tests.shop.tasks.build_report",
    "cron_expression": "0 6 * * *",
    "payload": {"day": "today"},
}


def add(**values: Any) -> CronJob:
    return CronJob.objects.create(**(FINE | values))


def sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def found(*databases: str) -> list[str]:
    messages = run_checks(tags=[Tags.database], databases=databases or ("default",))
    return [message.msg for message in messages if message.id == W005]


@pytest.mark.django_db
def test_jobs_that_are_right_are_silent() -> None:
    assert found() == []
    add()
    add(job_id="ping", task_name="tests.shop.tasks.ping", payload={"url": "/"}, queue="net")
    assert found() == []


@pytest.mark.django_db
def test_a_job_whose_payload_does_not_fit() -> None:
    add(payload={"dya": "today"})
    (message,) = check_cron_jobs(databases=["default"])
    assert isinstance(message, Warning)
    assert message.id == "django_dyncron.W005"
    assert message.hint == "Mend it in the admin, or pause it."
    assert message.msg == (
        'The cron job "report" is wrong: payload: build_report takes (day, *, full=False): '
        "missing a required argument: 'day'"
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    "values, words",
    [
        ({"task_name": "os.system"}, "task_name: 'os.system' is not a registered task, nor"),
        ({"payload": [7]}, "payload: The payload must be a JSON object"),
        ({"options": []}, "options: The options must be a JSON object such as {}"),
        ({"enqueuer": "nowhere"}, "enqueuer: There is no such name among ENQUEUERS: use one of"),
        ({"cron_expression": "0 25 * * *"}, "cron_expression: Hour '25': use 0–23"),
        ({"time_zone": "Mars/Base"}, "time_zone: "),
        ({"misfire_policy": "often"}, "misfire_policy: Value 'often' is not a valid choice"),
        ({"max_run_seconds": 0}, "max_run_seconds: Ensure this value is greater than or equal to"),
    ],
)
def test_what_can_be_wrong(values: Mapping[str, Any], words: str) -> None:
    add(**values)
    (message,) = found()
    assert message.startswith(f'The cron job "report" is wrong: {words}')


class Pigeons(LocalTaskEnqueuer):
    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        if queue == "boom":
            raise ZeroDivisionError("by zero")
        if queue != "loft":
            raise EnqueueRefused(f"No {queue!r}.", field="queue")

    def check_options(self, options: Mapping[str, Any]) -> None:
        if options:
            raise EnqueueRefused("A pigeon has no options.", field="options")


@pytest.mark.django_db
@override_settings(DYNCRON={"ENQUEUER": f"{__name__}.Pigeons"})
def test_the_enqueuer_of_a_job_is_asked() -> None:
    add(queue="loft")
    add(job_id="a", queue="attic", cron_expression="0 25 * * *")
    add(job_id="b", queue="loft", options={"speed": 7})
    add(job_id="c", queue="boom")
    assert found() == [
        "The cron job \"a\" is wrong: cron_expression: Hour '25': use 0–23; queue: No 'attic'",
        'The cron job "b" is wrong: options: A pigeon has no options',
        'The cron job "c" is wrong: The task cannot be checked: ZeroDivisionError: by zero',
    ]


@pytest.mark.django_db
def test_a_paused_job_may_be_wrong() -> None:
    add(task_name="os.system", is_active=False)
    assert found() == []


@pytest.mark.django_db
def test_after_twenty_the_others_are_counted() -> None:
    CronJob.objects.bulk_create(
        CronJob(**(FINE | {"job_id": f"job-{number:02}", "payload": {}})) for number in range(20)
    )
    assert len(found()) == 20
    assert found()[19].startswith('The cron job "job-19" is wrong')
    add(job_id="job-20", payload={})
    add(job_id="job-21", payload={})
    assert len(found()) == 21
    assert found()[20] == "2 more cron jobs are wrong."


@pytest.mark.django_db
def test_no_more_than_so_many_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_dyncron.checks.jobs.MOST_READ", 2)
    for job_id in ("c", "b", "a"):
        add(job_id=job_id, payload={})
    assert [message[:16] for message in found()] == ['The cron job "a"', 'The cron job "b"']


# --- rows that cannot be read -----------------------------------------------------------------


UNREADABLE = {
    "postgresql": {"ends_at": "'infinity'", "starts_at": "'12000-01-01T00:00Z'"},
    "sqlite": {"ends_at": "'2030-13-01 00:00:00'", "cron_expression": "CAST(x'ff' AS TEXT)"},
}[connection.vendor]
"""What SQL can put where Python cannot read it, by column."""


@pytest.mark.django_db
@pytest.mark.parametrize("column", UNREADABLE)
def test_a_row_that_cannot_be_read_hides_no_other(column: str) -> None:
    add(job_id="a", payload={})
    spoilt = add(job_id="b")
    add(job_id="c")
    add(job_id="d", payload={})
    sql(f"UPDATE django_dyncron_cronjob SET {column} = {UNREADABLE[column]} WHERE id = {spoilt.pk}")
    first, second, third = found()
    assert first.startswith('The cron job "a" is wrong: payload: build_report takes')
    assert second.startswith(f'The cron job "#{spoilt.pk}" is wrong: its row cannot be read: ')
    assert third.startswith('The cron job "d" is wrong: payload: build_report takes')


# --- where nothing is to be read --------------------------------------------------------------


@pytest.mark.django_db
def test_only_the_database_that_may_be_asked_is_read() -> None:
    add(payload={})
    assert check_cron_jobs() == []
    assert check_cron_jobs(databases=[]) == []
    assert check_cron_jobs(databases=["other"]) == []


class ListedJobs(ICronJobRepository):
    async def get_active_jobs(self) -> list[CronJobDefinition]:
        raise AssertionError("It is asked by a scheduler only.")

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        raise AssertionError("It is told by a scheduler only.")


@pytest.mark.django_db
@override_settings(DYNCRON={"REPOSITORY": f"{__name__}.ListedJobs"})
def test_jobs_kept_elsewhere_are_not_looked_for_here() -> None:
    add(payload={})
    assert found() == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "dyncron",
    [{"ENQUEUER": "lokal"}, {"TICK_INTERVAL_SECONDS": 0}, {"REPOSITORY": "nowhere.Repository"}],
)
def test_wrong_settings_are_told_first(dyncron: dict[str, Any]) -> None:
    add(payload={})
    with override_settings(DYNCRON=dyncron):
        assert found() == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE django_dyncron_cronjob RENAME TO gone",
        "ALTER TABLE django_dyncron_cronjob RENAME COLUMN options TO gone",
    ],
)
def test_before_migrate_nothing_is_wrong_and_nothing_is_broken(statement: str) -> None:
    add(payload={})
    sql(statement)
    assert check_cron_jobs(databases=["default"]) == []
    # Not even the transaction around it.
    sql("SELECT 1")


def test_migrate_and_check_go_through(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> None:
    url = f"sqlite:///{tmp_path / 'new.sqlite3'}"
    errors = StringIO()
    with (
        django_db_blocker.unblock(),
        database_alias(tmp_path.name, url) as alias,
        override_settings(DYNCRON={"DATABASE": alias}),
    ):
        call_command("migrate", database=alias, verbosity=0, skip_checks=False)
        CronJob.objects.using(alias).create(**(FINE | {"payload": {}}))
        CronJob.objects.using(alias).create(**(FINE | {"job_id": "long"}))
        with connections[alias].cursor() as cursor:
            # SQLite keeps any value in any column.
            cursor.execute(
                "UPDATE django_dyncron_cronjob SET max_run_seconds = 'x' WHERE job_id = 'long'"
            )
        call_command("check", databases=[alias], stderr=errors)
    output = errors.getvalue()
    assert '(django_dyncron.W005) The cron job "report" is wrong: payload: build_report' in output
    assert 'The cron job "long" is wrong: max_run_seconds: “x” value must be an integer' in output
