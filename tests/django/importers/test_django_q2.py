"""A table that django-q2 itself has made, and what it makes of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.db import connection

from django_dyncron.importers.entries import CannotImport
from django_dyncron.importers.sources._literals import keyword_arguments, positional_arguments
from django_dyncron.models import CronJob
from tests.django.importers.conftest import Import
from tests.importing.loading import expectations, load_tables

pytestmark = pytest.mark.django_db

SOURCE = "django-q2"
EXPECTED = expectations("django_q2")


@pytest.fixture(autouse=True)
def _table(db: None, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    load_tables("django_q2")


def change(name: str, **columns: Any) -> None:
    places = ", ".join(f"{column} = %s" for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE django_q_schedule SET {places} WHERE name = %s", [*columns.values(), name]
        )


def test_what_the_report_says_of_it_is_what_it_does(run_import: Import) -> None:
    report = run_import(SOURCE)
    assert not report["error"]
    told = {
        entry["place"].removeprefix("schedule "): entry
        for entry in [*report["jobs"], *report["left_out"]]
    }
    assert told.keys() == EXPECTED.keys()
    for key, expected in EXPECTED.items():
        before = told[key]["before"] or told[key]["after"] if expected else []
        assert [moment[:16] for moment in before] == [moment[:16] for moment in expected[:3]], key
    for job in report["jobs"]:
        same = [moment[:16] for moment in job["before"]] == [moment[:16] for moment in job["after"]]
        assert same or job["differences"], job["name"]


@pytest.mark.parametrize(
    "name, expression, time_zone",
    [
        ("every 20 minutes", "*/20 * * * *", "UTC"),
        ("hourly", "40 * * * *", "UTC"),
        ("daily", "40 6 * * *", "Europe/Berlin"),
        ("weekly", "40 6 * * 2", "Europe/Berlin"),
        ("monthly", "40 6 1 * *", "Europe/Berlin"),
        ("bimonthly", "40 6 1 2-12/2 *", "Europe/Berlin"),
        ("quarterly", "40 6 1 3-12/3 *", "Europe/Berlin"),
        ("yearly", "40 5 1 12 *", "UTC"),
        ("cron", "*/10 6-20 * * 1-5", "Europe/Berlin"),
        ("cron, both days", "0 9 1-31/10 * 1", "Europe/Berlin"),
        ("once", "31 9 14 2 *", "UTC"),
    ],
)
def test_expressions(run_import: Import, name: str, expression: str, time_zone: str) -> None:
    run_import(SOURCE, only=[name])
    job = CronJob.objects.get()
    assert (job.cron_expression, job.time_zone) == (expression, time_zone)


def test_the_zone_of_the_cluster(run_import: Import, settings: Any) -> None:
    settings.Q_CLUSTER = {"time_zone": "Asia/Tokyo"}
    run_import(SOURCE, only=["daily"])
    job = CronJob.objects.get()
    assert (job.cron_expression, job.time_zone) == ("40 14 * * *", "Asia/Tokyo")
    settings.Q_CLUSTER = {"time_zone": "Mars/Base"}
    assert "in Q_CLUSTER or TIME_ZONE" in run_import(SOURCE)["error"]


def test_a_counted_job_ends(run_import: Import) -> None:
    report = run_import(SOURCE, only=["daily, three times"])
    assert CronJob.objects.get().ends_at == datetime.fromisoformat("2026-12-03T05:40:59Z")
    assert "It has 3 runs left" in report["jobs"][0]["notes"][0]


def test_what_it_is_called_with(run_import: Import) -> None:
    run_import(SOURCE)
    payloads = dict(CronJob.objects.values_list("job_id", "payload"))
    assert payloads["arguments"] == {"count": 4}
    assert payloads["arguments by name"] == {"count": 3}
    assert payloads["arguments as a dict"] == {"count": 3}
    assert payloads["options"] == {"count": 3}
    assert CronJob.objects.get(job_id="arguments").queue == "slow"
    assert {"same name-24", "same name-25", "tests.shop.tasks.restock"} <= payloads.keys()


@pytest.mark.parametrize(
    "name, reason",
    [
        ("every 50 minutes", "Every 50 minutes does not come at the same times"),
        ("biweekly", "Every 14 days is no time of a week"),
        ("monthly, on the 31st", "It is for day 31, which django-q2 moves to an earlier day"),
        ("daily, no more", "It has no runs left."),
        ("the intended date", "It is told its time as 'day'"),
        ("code for arguments", "Its args are no plain values, and are not evaluated."),
    ],
)
def test_reasons(run_import: Import, name: str, reason: str) -> None:
    assert reason in run_import(SOURCE, only=[name])["left_out"][0]["reason"]
    assert not CronJob.objects.exists()


@pytest.mark.parametrize(
    "columns, reason",
    [
        ({"next_run": None}, "It has no next run."),
        ({"schedule_type": "Z"}, "Its type 'Z' is not known."),
        ({"schedule_type": "C", "cron": "0 0 * * * *"}, "there are no seconds here"),
        ({"kwargs": "count=(1, 2)"}, "Its arguments hold what JSON cannot"),
        ({"repeats": 20_000}, "too many to tell when it would end"),
        ({"next_run": "9999-12-31 23:59:00+00:00", "repeats": 3}, "Its dates are out of reach."),
    ],
)
def test_what_is_wrong_with_a_row(run_import: Import, columns: dict[str, Any], reason: str) -> None:
    change("daily", **columns)
    report = run_import(SOURCE, only=["daily"])
    assert reason in report["left_out"][0]["reason"]
    assert not report["error"]


def test_what_is_overdue_is_not_made_up_for(run_import: Import) -> None:
    report = run_import(SOURCE, only=["daily"], at="2026-12-02T12:00:00Z")
    assert "Its next run was 2026-12-01 05:40 UTC" in report["jobs"][0]["notes"][0]
    assert report["jobs"][0]["after"][0] == "2026-12-03T05:40Z"


@pytest.mark.parametrize("text", ["f()", "open('x')", "(" * 10_000, "1 +", "a", "\0", "[].x"])
def test_arguments_are_never_run(text: str) -> None:
    for read in (positional_arguments, keyword_arguments):
        with pytest.raises(CannotImport):
            read(text)


@pytest.mark.parametrize("text", ["**{'a': 1}", "1, a=2", "a=1) + f(b=2", "{1: 2}", "{'a'}"])
def test_arguments_that_have_no_names(text: str) -> None:
    with pytest.raises(CannotImport):
        keyword_arguments(text)
