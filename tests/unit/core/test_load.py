"""Counting what schedules plan, by masks of minutes."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from django_dyncron.core.exceptions import InvalidCronExpression
from django_dyncron.core.expression import is_hashed, spread_expression
from django_dyncron.core.load import Demand, LoadCount
from django_dyncron.core.schedule import CronSchedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-30T{text}Z")


def hours(first: str, count: int) -> list[datetime]:
    return [at(first) + timedelta(hours=number) for number in range(count + 1)]


def demand(expression: str, jobs: float = 1, zone: str = "UTC", **dates: datetime) -> Demand:
    return Demand(CronSchedule.parse(expression, zone), jobs, **dates)


def test_runs_are_counted_by_the_hour_and_by_the_minute() -> None:
    count = LoadCount(hours("10:00", 4), 1, 3)
    count.add([demand("*/20 11-12 * * *", 2), demand("0 * * * *", 5), demand("30 13 * * *")])
    assert count.stretches == [5, 11, 11, 6]
    assert len(count.minutes) == 120
    busy = {minute: runs for minute, runs in enumerate(count.minutes) if runs}
    assert busy == {0: 7, 20: 2, 40: 2, 60: 7, 80: 2, 100: 2}


def test_a_minute_on_a_bound_belongs_to_what_it_begins() -> None:
    count = LoadCount(hours("10:00", 2), 0, 2)
    count.add([demand("0 10-12 * * *")])
    assert count.stretches == [1, 1]


def test_stretches_need_not_be_as_long_as_each_other() -> None:
    count = LoadCount([at("10:00"), at("10:30"), at("10:30"), at("12:00")], 0, 3)
    count.add([demand("*/10 * * * *")])
    assert count.stretches == [3, 0, 9]


@pytest.mark.parametrize(
    "dates, expected",
    [
        ({}, [2, 2, 2]),
        ({"starts_at": at("09:00")}, [2, 2, 2]),
        ({"starts_at": at("11:30")}, [0, 1, 2]),
        ({"starts_at": at("11:30:01")}, [0, 0, 2]),
        ({"starts_at": at("14:00")}, [0, 0, 0]),
        ({"ends_at": at("11:00")}, [2, 1, 0]),
        ({"ends_at": at("11:30:59")}, [2, 2, 0]),
        ({"ends_at": at("10:29:59")}, [1, 0, 0]),
        ({"ends_at": at("09:00")}, [0, 0, 0]),
        ({"ends_at": at("20:00")}, [2, 2, 2]),
        ({"starts_at": at("10:30"), "ends_at": at("12:00")}, [1, 2, 1]),
    ],
)
def test_the_dates_of_a_job_are_respected(
    dates: dict[str, datetime], expected: list[float]
) -> None:
    count = LoadCount(hours("10:00", 3), 0, 3)
    count.add([demand("*/30 * * * *", **dates)])
    assert count.stretches == expected


def test_a_zone_shifts_the_hours() -> None:
    count = LoadCount(hours("00:00", 24), 0, 24)
    count.add([demand("15 9 * * *", zone="Asia/Kolkata")])
    assert [hour for hour, runs in enumerate(count.stretches) if runs] == [3]
    assert [minute for minute, runs in enumerate(count.minutes) if runs] == [225]


def test_what_a_gap_makes_up_is_counted_where_it_runs() -> None:
    night = [datetime.fromisoformat(f"2026-03-29T{hour:02}:00Z") for hour in range(4)]
    count = LoadCount(night, 0, 3)
    count.add([demand("30 2 * * *", zone="Europe/Berlin")])
    assert count.stretches == [0, 1, 0]
    assert count.minutes.index(1) == 60


# --- jobs that spread themselves ------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression, is_one",
    [
        ("H * * * *", True),
        ("0 h(1-5) * * *", True),
        ("5,H * * * *", True),
        ("0 0 * * THU", False),
        ("@hourly", False),
        ("0 0 * MARCH *", False),
        (7, False),
    ],
)
def test_which_expressions_differ_from_job_to_job(expression: object, is_one: bool) -> None:
    assert is_hashed(expression) is is_one


@pytest.mark.parametrize(
    "expression, spread, share",
    [
        ("H * * * *", "0-59 * * * *", 1 / 60),
        ("H H * * *", "0-59 0-23 * * *", 1 / 1440),
        ("H/15 * * * *", "0-59 * * * *", 4 / 60),
        ("H/40 * * * *", "0-59 * * * *", 1.5 / 60),
        ("H(0-29)/10 * * * *", "0-29 * * * *", 1 / 10),
        ("H(0-4)/9 * * * *", "0-4 * * * *", 1 / 5),
        ("0 H(1-5) * * *", "0 1-5 * * *", 1 / 5),
        ("0 0 H * *", "0 0 1-28 * *", 1 / 28),
        ("0 0 * * H(MON-FRI)", "0 0 * * 1-5", 1 / 5),
        ("5,H(0-9) * * * *", "5,0-9 * * * *", 2 / 10),
        ("0 6 * * *", "0 6 * * *", 1),
    ],
)
def test_what_many_jobs_with_an_h_come_to(expression: str, spread: str, share: float) -> None:
    assert spread_expression(expression) == (spread, pytest.approx(share))


def test_what_cannot_be_read_cannot_be_spread() -> None:
    with pytest.raises(InvalidCronExpression, match="H/15"):
        spread_expression("H(1 * * * *")


def test_a_thousand_jobs_come_close_to_what_they_are_expected_to() -> None:
    one_by_one = LoadCount(hours("10:00", 2), 0, 2)
    one_by_one.add(
        Demand(CronSchedule.parse("H/20 10 * * *", hash_id=f"job-{number}"))
        for number in range(1000)
    )
    expression, share = spread_expression("H/20 10 * * *")
    expected = LoadCount(hours("10:00", 2), 0, 2)
    expected.add([demand(expression, 1000 * share)])
    assert one_by_one.stretches == [3000, 0]
    assert expected.stretches == [pytest.approx(3000), 0]
    assert max(expected.minutes) == pytest.approx(50)
