"""A database that django-celery-beat itself has made, and what Celery makes of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.db import connection

from django_dyncron.core.planning import PlanningRules, schedule_for
from django_dyncron.models import CronJob
from tests.django.importers.conftest import Import
from tests.importing.loading import expectations, load_tables

pytestmark = pytest.mark.django_db

SOURCE = "django-celery-beat"
EXPECTED = expectations("django_celery_beat")
INSTANTS = list(EXPECTED["every minute"])


@pytest.fixture(autouse=True)
def _tables(db: None) -> None:
    load_tables("django_celery_beat")


def at_minutes(moments: list[str]) -> list[str]:
    """Cut the seconds off, which no slot has."""
    return [f"{moment[:16]}Z" for moment in moments]


def parted(celery: list[str], ours: list[str]) -> tuple[set[str], set[str]]:
    """Return what only Celery runs and what only the scheduler, as far as both lists tell.

    Lists of fewer than three runs end because there are no more.
    """
    ends = [runs[-1] for runs in (celery, ours) if len(runs) == 3]
    told = [{run for run in runs if not ends or run <= min(ends)} for runs in (celery, ours)]
    return told[0] - told[1], told[1] - told[0]


def slots_of(job: CronJob, instant: str, count: int) -> list[str]:
    """List the next slots of a row, by the scheduler's own schedule."""
    after = datetime.fromisoformat(instant)
    schedule = schedule_for(job.definition(), PlanningRules())
    slots = [
        slot
        for slot in schedule.upcoming(max(after, job.starts_at or after), count)
        if job.ends_at is None or slot <= job.ends_at
    ]
    if job.starts_at and job.starts_at > after and schedule.is_slot(job.starts_at):
        slots = [job.starts_at, *slots][:count]
    return [f"{slot:%Y-%m-%dT%H:%M}Z" for slot in slots]


@pytest.mark.parametrize("instant", INSTANTS)
def test_what_the_report_says_of_celery_is_what_celery_says(
    run_import: Import, instant: str
) -> None:
    report = run_import(SOURCE, at=instant, dry_run=True)
    told = report["by_name"]
    assert not report["error"]
    assert told.keys() == EXPECTED.keys()
    assert len(told) == 62
    for name, expected in EXPECTED.items():
        if "error" in expected:
            assert not told[name].get("before"), name
        elif "It was to run once, and it has." not in told[name].get("reason", ""):
            assert [moment[:16] for moment in told[name]["before"] or []] == [
                moment[:16] for moment in expected[instant]
            ], name


ENDED_EARLY = {
    "2027-04-03T15:10:00Z": {"around Lord Howe's half hour"},
    "2027-10-31T01:10:00Z": {
        "every quarter of an hour",
        "in the gap, Berlin",
        "twice within the gap",
    },
}
"""Crontabs of which nothing was recorded: within the hour that comes twice Celery finds them due
again and again, and there the recording stops. What it would run after that hour is not known."""


@pytest.mark.parametrize("instant", INSTANTS)
def test_every_next_run_is_the_same_or_is_in_the_report(run_import: Import, instant: str) -> None:
    report = run_import(SOURCE, at=instant)
    jobs = {job.job_id: job for job in CronJob.objects.all()}
    same, ended_early = 0, set()
    for name, told in report["by_name"].items():
        if name not in jobs:
            assert told["reason"]
            continue
        expected = at_minutes(EXPECTED[name][instant])
        ours = slots_of(jobs[name], instant, 3)
        listed = {
            side: {run[:16] + "Z" for each in told["differences"] for run in each[side]}
            for side in ("before", "after")
        }
        if ours == expected:
            same += 1
            continue
        assert told["notes"] or report["clock_changes"], name
        if not expected:
            ended_early.add(name)
            assert ours[0] in listed["after"], name
            continue
        only_celery, only_ours = parted(expected, ours)
        assert only_celery | only_ours, name
        assert only_celery <= listed["before"], name
        assert only_ours <= listed["after"], name
    assert ended_early == ENDED_EARLY.get(instant, set())
    assert same >= 30


def test_what_is_the_same_and_what_is_not(run_import: Import) -> None:
    report = run_import(SOURCE)
    differing = {job["name"] for job in report["jobs"] if job["differences"]}
    assert len(report["jobs"]) == 50
    assert differing == {
        "every quarter of an hour",
        "every hour, Berlin",
        "every hour, New York",
        "all hours, spelt as a range",
        "in the gap, Berlin",
        "in the gap, New York",
        "clocked, with seconds",
    }
    assert {entry["name"] for entry in report["left_out"]} == {
        "Sunday is 7",
        "Friday the 13th",
        "expired",
        "an exchange",
        "once, and it was",
        "every 30 seconds",
        "every 7 minutes",
        "every 5 hours",
        "every 10 days",
        "celery.backend_cleanup",
        "clocked, past",
        "at sunset",
    }
    assert report["by_name"]["in the gap, Berlin"]["differences"] == [
        {"date": "2027-03-28", "before": ["2027-03-28T01:30Z"], "after": ["2027-03-28T01:00Z"]}
    ]
    assert report["by_name"]["every hour, New York"]["differences"] == [
        {"date": "2027-11-07", "before": [], "after": ["2027-11-07T06:30Z"]}
    ]


@pytest.mark.parametrize(
    "name, expression, time_zone",
    [
        ("every quarter of an hour", "*/15 * * * *", "Europe/Berlin"),
        ("lists with spaces", "0,30 8,20 * * 1,3", "Europe/Paris"),
        ("working days", "30 6 * * mon-fri", "Europe/Berlin"),
        ("names in full", "0 7 * 1,7 1,5", "UTC"),
        ("wraps around midnight", "0 0-4,22,23 * * *", "Europe/Berlin"),
        ("wraps around the week", "0 10 * * 0,1,5,6", "UTC"),
        ("all hours, spelt as a range", "5 * * * *", "Europe/Berlin"),
        ("leading zeros", "05 09 01 * *", "Europe/Berlin"),
        # Both day fields: cron would take either
        ("first Monday", "0 9 * * 1#1", "Europe/Berlin"),
        ("second and fourth Friday", "0 9 * * 5#2,5#4", "UTC"),
        ("the 1st or 15th, if on a Sunday", "0 9 1,15 * */7", "UTC"),
        ("the 10th to 20th, if at the weekend", "0 9 10-20 * */7,6", "UTC"),
        ("the 1st, if on a Monday to Wednesday", "0 9 */31,2 * 1-3", "UTC"),
        ("Mondays, days spelt out", "0 9 * * 1", "UTC"),
        ("odd days that are Tuesdays", "0 9 */2 * tue", "UTC"),
        # Intervals keep the minutes at which Celery had them
        ("every 15 minutes", "7-59/15 * * * *", "UTC"),
        ("every 120 seconds", "1-59/2 * * * *", "UTC"),
        ("every 6 hours", "7 5-23/6 * * *", "UTC"),
        ("every day", "7 23 * * *", "UTC"),
        ("every 7 days, never run", "0 8 * * 5", "UTC"),
        ("every minute, in microseconds", "* * * * *", "UTC"),
        ("every hour, from a start", "20 * * * *", "UTC"),
        ("clocked", "30 9 14 2 *", "UTC"),
        ("clocked, with seconds", "11 1 31 10 *", "UTC"),
    ],
)
def test_expressions(run_import: Import, name: str, expression: str, time_zone: str) -> None:
    run_import(SOURCE, only=[name])
    job = CronJob.objects.get(job_id=name)
    assert (job.cron_expression, job.time_zone) == (expression, time_zone)


@pytest.mark.parametrize(
    "name, values",
    [
        (
            "arguments by name",
            {"payload": {"count": 3}, "queue": "slow", "options": {"priority": 7}},
        ),
        (
            "arguments by place",
            {"payload": {"count": 5}, "options": {"headers": {"tenant": "north"}}},
        ),
        (
            "expires after a while",
            {"options": {"expires": 300, "routing_key": "reports"}, "queue": "default"},
        ),
        ("expires at a moment", {"ends_at": datetime.fromisoformat("2027-04-01T00:59:59Z")}),
        (
            "disabled",
            {
                "is_active": False,
                "pause_reason": "Disabled in django-celery-beat.",
                "description": "Not before the new year.",
            },
        ),
        ("starts later", {"starts_at": datetime.fromisoformat("2027-01-10T12:00:00Z")}),
        (
            "once",
            {
                "starts_at": datetime.fromisoformat("2026-12-01T17:00:00Z"),
                "ends_at": datetime.fromisoformat("2026-12-01T17:00:59Z"),
            },
        ),
        (
            "clocked, years away",
            {
                "starts_at": datetime.fromisoformat("2029-07-01T00:00:00Z"),
                "ends_at": datetime.fromisoformat("2029-07-01T00:00:59Z"),
            },
        ),
        ("every day", {"last_run_at": datetime.fromisoformat("2026-11-30T23:07:13.250Z")}),
    ],
)
def test_columns(run_import: Import, name: str, values: dict[str, Any]) -> None:
    run_import(SOURCE, only=[name])
    job = CronJob.objects.get()
    assert {column: getattr(job, column) for column in values} == values
    assert job.task_name == "tests.shop.tasks.restock"
    assert job.origin == "import"


@pytest.mark.parametrize(
    "name, reason",
    [
        ("Friday the 13th", "It runs on days that are both '13' in the month and '5' in the week"),
        ("Sunday is 7", "Celery cannot read day of week '7', and never ran it"),
        ("every 7 minutes", "Every 7 minutes does not come at the same times of every hour"),
        ("every 30 seconds", "a minute is the shortest step here"),
        ("an exchange", "It is sent to the exchange 'shop'"),
        ("expired", "It has expired, on 2026-06-01."),
        ("clocked, past", "It was to run once, and it has."),
        ("at sunset", "It follows the sun"),
        ("celery.backend_cleanup", "It is a task of Celery's own"),
    ],
)
def test_reasons(run_import: Import, name: str, reason: str) -> None:
    assert reason in run_import(SOURCE, only=[name])["by_name"][name]["reason"]
    assert not CronJob.objects.exists()


def test_once_and_disabled(run_import: Import) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_celery_beat_periodictask SET enabled = %s WHERE name = 'once'", [False]
        )
    told = run_import(SOURCE, only=["once"])["jobs"][0]
    assert told["notes"] == ["Its one run is told as if it were enabled now; set its dates then."]


def test_what_cron_would_make_of_both_days(run_import: Import) -> None:
    told = run_import(SOURCE, only=["Friday the 13th"])["by_name"]["Friday the 13th"]
    assert told["before"] == ["2027-08-13T07:00Z", "2028-10-13T07:00Z", "2029-04-13T07:00Z"]
    assert told["nearest"] == "0 9 13 * 5"
    assert told["nearest_runs"] == ["2026-12-04T08:00Z", "2026-12-11T08:00Z", "2026-12-13T08:00Z"]
