"""Tables as other versions and other hands have left them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, connections

from django_dyncron.models import CronJob
from tests.databases import database_alias
from tests.django.importers.conftest import Import
from tests.importing.loading import load_tables

SOURCE = "django-celery-beat"
TASKS = "django_celery_beat_periodictask"
CRONTABS = "django_celery_beat_crontabschedule"


@pytest.fixture
def _tables(db: None) -> None:
    load_tables("django_celery_beat")


def execute(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def change(name: str, **columns: Any) -> None:
    places = ", ".join(f"{column} = %s" for column in columns)
    execute(f"UPDATE {TASKS} SET {places} WHERE name = %s", *columns.values(), name)


@pytest.mark.django_db
@pytest.mark.parametrize("source", ["django-celery-beat", "django-q2"])
def test_no_such_tables(run_import: Import, source: str) -> None:
    report = run_import(source)
    assert "There is no table django_" in report["error"]
    assert "in the database 'default'" in report["error"]


@pytest.mark.usefixtures("_tables")
def test_columns_that_older_versions_lack(run_import: Import) -> None:
    for column in ("expire_seconds", "headers", "priority"):
        execute(f"ALTER TABLE {TASKS} DROP COLUMN {column}")
    assert not run_import(SOURCE, only=["every hour, Berlin"])["error"]
    assert CronJob.objects.get().options == {}


@pytest.mark.usefixtures("_tables")
@pytest.mark.parametrize(
    "columns, reason",
    [
        ({"args": "[1"}, "Its args are no JSON, and Celery never ran it."),
        ({"args": "{}"}, "Its args are no JSON array."),
        ({"kwargs": "[]"}, "Its kwargs are no JSON object."),
        ({"kwargs": "[" * 100_000}, "Its kwargs are no JSON"),
        ({"args": "[1, 2]"}, "for which 'tests.shop.tasks.restock' has not as many names"),
        ({"args": "[1]", "kwargs": '{"count": 2}'}, "It has the argument 'count' twice"),
        ({"args": "[1]", "task": "depot.weigh"}, "there is no task 'depot.weigh' here to ask"),
        ({"crontab_id": None}, "It has no schedule."),
        ({"crontab_id": 999_999}, "It has no schedule."),
    ],
)
def test_what_is_wrong_with_a_row(run_import: Import, columns: dict[str, Any], reason: str) -> None:
    change("every hour, Berlin", **columns)
    report = run_import(SOURCE, only=["every hour, Berlin"])
    assert reason in report["left_out"][0]["reason"]
    assert not report["error"]


@pytest.mark.usefixtures("_tables")
def test_an_unknown_zone(run_import: Import) -> None:
    execute(f"UPDATE {CRONTABS} SET timezone = 'Mars/Base'")
    told = run_import(SOURCE, only=["every hour, Berlin"])["left_out"][0]
    assert told["reason"].startswith("Time zone 'Mars/Base' is unknown")


@pytest.mark.usefixtures("_tables")
def test_an_interval_beyond_the_calendar(run_import: Import) -> None:
    execute("UPDATE django_celery_beat_intervalschedule SET every = 999999999, period = 'days'")
    told = run_import(SOURCE, only=["every 7 minutes"])["left_out"][0]
    assert told["reason"].startswith("Every 999999999 days does not come at the same times")
    assert told["before"] == []


@pytest.mark.usefixtures("_tables")
@pytest.mark.parametrize("zone", ["US/Pacific", "Asia/Calcutta", "EST5EDT", "Etc/GMT-5"])
def test_old_names_of_zones(run_import: Import, zone: str) -> None:
    execute(f"UPDATE {CRONTABS} SET timezone = %s", zone)
    assert not run_import(SOURCE, only=["every hour, Berlin"])["error"]
    assert CronJob.objects.get().time_zone == zone


@pytest.mark.usefixtures("_tables")
def test_celerys_zone_counts_if_the_project_says_so(run_import: Import, settings: Any) -> None:
    settings.DJANGO_CELERY_BEAT_TZ_AWARE = False
    settings.CELERY_TIMEZONE = "Asia/Tokyo"
    report = run_import(SOURCE, only=["every hour, Berlin"])
    assert CronJob.objects.get().time_zone == "Asia/Tokyo"
    assert "DJANGO_CELERY_BEAT_TZ_AWARE is off" in report["notes"][0]
    assert report["notes"][0].endswith("by the setting CELERY_TIMEZONE Asia/Tokyo.")


@pytest.mark.usefixtures("_tables")
def test_an_option_that_the_queue_system_does_not_have(run_import: Import, settings: Any) -> None:
    settings.DYNCRON["ENQUEUERS"] = {"rows": "tests.django.importers.queues.NoOptions"}
    report = run_import(SOURCE, only=["arguments by name"], enqueuer="rows")
    job = CronJob.objects.get()
    assert (job.options, job.enqueuer) == ({}, "rows")
    assert report["jobs"][0]["notes"] == ["Its option 'priority' is dropped: No options here."]


@pytest.mark.usefixtures("_tables")
def test_every_fault_of_every_row_is_told_and_nothing_is_imported(run_import: Import) -> None:
    change("every hour, Berlin", task="depot.weigh")
    change("every hour, New York", kwargs='{"boxes": 2}')
    report = run_import(SOURCE)
    told = {job["name"]: job["faults"] for job in report["jobs"] if job["faults"]}
    assert "depot.weigh" in told["every hour, Berlin"]["task_name"][0]
    assert "boxes" in told["every hour, New York"]["payload"][0]
    assert len(told) == 2
    assert report["error"].startswith("Nothing was imported")
    assert not CronJob.objects.exists()

    assert not run_import(SOURCE, skip_invalid=True)["error"]
    assert CronJob.objects.count() == 48


@pytest.mark.django_db
def test_tables_of_another_database(
    run_import: Import, tmp_path: Any, django_db_blocker: Any
) -> None:
    with django_db_blocker.unblock(), database_alias("old", f"sqlite:///{tmp_path}/old.sqlite3"):
        load_tables("django_celery_beat", using="old")
        assert "There is no table" in run_import(SOURCE)["error"]
        assert not run_import(SOURCE, from_database="old")["error"]
    assert CronJob.objects.count() == 50
    assert "DATABASES has no 'older'" in run_import(SOURCE, from_database="older")["error"]


@pytest.mark.django_db
def test_a_date_that_is_none(run_import: Import, tmp_path: Any, django_db_blocker: Any) -> None:
    """SQLite takes any text."""
    with django_db_blocker.unblock(), database_alias("old", f"sqlite:///{tmp_path}/old.sqlite3"):
        load_tables("django_celery_beat", using="old")
        with connections["old"].cursor() as cursor:
            cursor.execute(f"UPDATE {TASKS} SET last_run_at = '2026-13-45 00:00:00'")
        error = run_import(SOURCE, from_database="old")["error"]
    assert "cannot be read: month must be in 1..12" in error


@pytest.mark.django_db
def test_a_table_is_no_file(run_import: Import) -> None:
    assert run_import(SOURCE, "rows.json")["error"].endswith("from its tables, not from a file.")
