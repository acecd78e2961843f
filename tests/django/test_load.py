"""The planned load of all jobs, from their rows."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_dyncron import load
from django_dyncron.load import BusyTime, PlannedLoad, planned_load
from django_dyncron.models import CronJob

pytestmark = pytest.mark.django_db

UTC = ZoneInfo("UTC")
NOW = datetime.fromisoformat("2026-11-30T10:20:30Z")  # a Monday


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def add(expression: str = "0 * * * *", count: int = 1, **values: Any) -> None:
    number = CronJob.objects.count()
    CronJob.objects.bulk_create(
        CronJob(job_id=f"job-{number + n}", task_name="t", cron_expression=expression, **values)
        for n in range(count)
    )


def counted(zone: ZoneInfo = UTC, now: datetime = NOW) -> PlannedLoad:
    return planned_load(zone, now=now)


def of_day(found: PlannedLoad, day: int = 0) -> list[int]:
    return [hour.runs for hour in found.days[day]]


def busy_hours(found: PlannedLoad) -> dict[int, int]:
    return {hour: runs for hour, runs in enumerate(of_day(found)) if runs}


def test_without_jobs_nothing_is_planned() -> None:
    found = counted()
    assert found.busiest == ()
    assert {hour.runs for day in found.days for hour in day} == {0}
    assert (found.left_out, found.is_estimated, found.counted_at) == (0, False, NOW)


def test_the_week_begins_with_today_and_the_next_hours_with_the_present_one() -> None:
    add("*/15 9-11 * * MON-WED", count=3)
    found = counted()
    assert [len(day) for day in found.days] == [24] * 7
    assert [sum(of_day(found, day)) for day in range(7)] == [36, 36, 36, 0, 0, 0, 0]
    assert busy_hours(found) == {9: 12, 10: 12, 11: 12}
    assert len(found.next_hours) == 24
    assert found.next_hours[0] == BusyTime(at("2026-11-30T10:00Z"), 12)
    assert found.next_hours[-1] == BusyTime(at("2026-12-01T09:00Z"), 12)


def test_the_busiest_minutes_are_still_to_come() -> None:
    add("0,20,21 10 * * *", count=9)
    add("0 * * * *", count=4)
    add("30 11,12 * * *", count=6)
    assert counted().busiest == (
        BusyTime(at("2026-11-30T10:21Z"), 9),
        BusyTime(at("2026-11-30T11:30Z"), 6),
        BusyTime(at("2026-11-30T12:30Z"), 6),
        BusyTime(at("2026-11-30T11:00Z"), 4),
        BusyTime(at("2026-11-30T12:00Z"), 4),
    )


def test_hours_are_those_of_the_zone_asked_for() -> None:
    add("0 6 * * *")
    found = counted(ZoneInfo("Asia/Kolkata"), at("2026-11-30T20:00Z"))
    # There it is 1 December, 01:30; a day there begins half past an hour.
    assert found.days[0][0].starts_at == at("2026-11-30T18:30Z")
    assert busy_hours(found) == {11: 1}


def test_an_hour_that_clocks_skip_is_empty_and_one_they_repeat_is_long() -> None:
    add("* * * * *")
    berlin = ZoneInfo("Europe/Berlin")
    assert of_day(counted(berlin, at("2026-03-29T10:00Z"))) == [60, 60, 0, *[60] * 21]
    assert of_day(counted(berlin, at("2026-10-25T10:00Z"))) == [60, 60, 120, *[60] * 21]


def test_only_jobs_that_will_run_are_counted() -> None:
    add("0 12 * * *")
    add("0 12 * * *", is_active=False)
    add("0 12 * * *", is_settled=True, **planned("0 12 * * *"))
    add("61 12 * * *", count=2)
    found = counted()
    assert busy_hours(found) == {12: 1}
    assert found.left_out == 2


def planned(expression: str) -> dict[str, Any]:
    inputs = {"cron_expression": expression, "time_zone": "", "dst_gap": "run_after"}
    values = {f"planned_{name}": value for name, value in inputs.items()}
    return {**values, "planned_dst_fold": "first", "plan_from": None}


def test_dates_are_respected() -> None:
    add(starts_at=at("2026-11-30T20:00Z"), ends_at=at("2026-11-30T22:00Z"))
    add(starts_at=at("2026-01-01T00:00Z"), ends_at=at("2027-01-01T00:00Z"))
    found = counted()
    assert of_day(found) == [*[1] * 20, 2, 2, 2, 1]


def test_the_time_zone_of_a_job_or_of_the_project_counts(settings: Any) -> None:
    settings.DYNCRON = {"TIME_ZONE": "Asia/Tokyo"}
    add("0 18 * * *")
    add("0 18 * * *", time_zone="Europe/Paris")
    assert busy_hours(counted()) == {9: 1, 17: 1}


def test_jobs_with_an_h_are_counted_one_by_one() -> None:
    add("H 12 * * *", count=300)
    found = counted()
    assert busy_hours(found) == {12: 300}
    assert not found.is_estimated
    assert found.busiest[0].runs > 5


def test_too_many_jobs_with_an_h_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_HASHED_JOBS", 299)
    add("H 12 * * *", count=300)
    add("H(x 12 * * *", count=2)
    found = counted()
    assert busy_hours(found) == {12: 300}
    assert (found.is_estimated, found.left_out) == (True, 2)
    assert {minute.runs for minute in found.busiest} == {5}


def test_the_rarest_of_too_many_schedules_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_SCHEDULES", 2)
    add("0 1 * * *", count=3)
    add("0 2 * * *", count=2)
    add("0 3 * * *")
    found = counted()
    assert busy_hours(found) == {1: 3, 2: 2}
    assert found.left_out == 1


@pytest.mark.parametrize("jobs", [1, 200])
def test_the_number_of_queries_does_not_grow(jobs: int) -> None:
    add("*/5 * * * *", count=jobs)
    add("H * * * *", count=jobs)
    with CaptureQueriesContext(connection) as queries:
        counted()
    assert len(queries) == 2
