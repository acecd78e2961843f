"""What the form warns about: codes are stable, so are the values that come with them."""

from __future__ import annotations

from typing import Any

import pytest

from django_dyncron.core.notices import NoticeCode, notices
from django_dyncron.core.schedule import CronSchedule

from .instants import utc

NOW = utc("2026-11-30T00:00Z")


def noticed(expression: str, zone: str = "UTC", **policy: str) -> list[tuple[str, dict[str, Any]]]:
    schedule = CronSchedule.parse(expression, zone, **policy)
    return [(notice.code.value, dict(notice.values)) for notice in notices(schedule, NOW)]


@pytest.mark.parametrize(
    "expression",
    [
        "0 6 * * *",
        "*/5 * * * *",
        "5/15 * * * *",
        "0 9-17/3 * * 1-5",
        "0 0 1 * *",
        "0 0 L * *",
        "0 0 31 1,3 *",
        "0 0 LW * *",
        "0 0 * * MON#1",
        "0 0 ? * 1",
        "0 0 1 */3 *",
        "@weekly",
        "59 23 31 12 *",
    ],
)
def test_plain_schedules_go_without_notice(expression: str) -> None:
    assert noticed(expression) == []


@pytest.mark.parametrize(
    "expression, code, values",
    [
        ("* 3 * * *", "every_minute_of_hour", {"hours": (3,), "suggestion": "0 3 * * *"}),
        (
            "0-59 3,5 * * MON",
            "every_minute_of_hour",
            {"hours": (3, 5), "suggestion": "0 3,5 * * 1"},
        ),
        ("* * * * *", "many_times_a_day", {"count": 1440}),
        ("*/2 * * * *", "many_times_a_day", {"count": 720}),
        ("30 4 1,15 * 5", "either_day", {}),
        ("0 0 1-7 * MON", "either_day", {}),
        ("*/40 * * * *", "uneven_step", {"field": "minute", "step": 40, "values": (0, 40)}),
        ("0-59/25 * * * *", "uneven_step", {"field": "minute", "step": 25, "values": (0, 25, 50)}),
        ("7/25 * * * *", "uneven_step", {"field": "minute", "step": 25, "values": (7, 32, 57)}),
        ("0 */9 * * *", "uneven_step", {"field": "hour", "step": 9, "values": (0, 9, 18)}),
        ("0 0 1 */5 *", "uneven_step", {"field": "month", "step": 5, "values": (1, 6, 11)}),
        ("0 0 * * */3", "uneven_step", {"field": "day_of_week", "step": 3, "values": (0, 3, 6)}),
        ("0 0 1-31/2 * *", "step_restarts", {"step": 2}),
        ("0 0 */2 * *", "step_restarts", {"step": 2}),
        ("*/61 * * * *", "step_too_long", {"field": "minute", "step": 61, "value": 0}),
        ("50/15 * * * *", "step_too_long", {"field": "minute", "step": 15, "value": 50}),
        ("0 0 */40 * *", "step_too_long", {"field": "day_of_month", "step": 40, "value": 1}),
        ("0 0 31 * *", "short_months", {"day": 31}),
        ("0 0 30,31 * *", "short_months", {"day": 30}),
        ("0 0 29 * *", "short_months", {"day": 29}),
        ("0 0 31W * *", "short_months", {"day": 31}),
        ("0 0 * * FRI#5", "fifth_weekday", {}),
    ],
)
def test_one_notice(expression: str, code: str, values: dict[str, Any]) -> None:
    assert noticed(expression) == [(code, values)]


def test_several_notices() -> None:
    assert noticed("0 0 */10 * 0") == [("both_days", {}), ("step_restarts", {"step": 10})]
    assert noticed("0 0 29 2 *") == [
        ("leap_years_only", {}),
        ("far_away", {"date": "2028-02-29"}),
    ]


def test_the_far_date_is_local() -> None:
    # Midnight in Kiritimati is 10:00 of the day before in UTC.
    found = noticed("0 0 29 2 *", "Pacific/Kiritimati")
    assert ("far_away", {"date": "2028-02-29"}) in found


BERLIN_GAP = {"date": "2027-03-28", "time": "02:30"}
BERLIN_FOLD = {"date": "2027-10-31", "time": "02:30"}


@pytest.mark.parametrize(
    "policy, expected",
    [
        (
            {},
            [("gap_run_after", BERLIN_GAP | {"runs_at": "03:00"}), ("fold_first", BERLIN_FOLD)],
        ),
        (
            {"dst_gap": "skip", "dst_fold": "second"},
            [("gap_skip", BERLIN_GAP), ("fold_second", BERLIN_FOLD)],
        ),
        (
            {"dst_gap": "skip", "dst_fold": "both"},
            [("gap_skip", BERLIN_GAP), ("fold_both", BERLIN_FOLD)],
        ),
    ],
)
def test_a_fixed_time_that_clocks_skip_or_repeat(
    policy: dict[str, str], expected: list[tuple[str, dict[str, str]]]
) -> None:
    assert noticed("30 2 * * *", "Europe/Berlin", **policy) == expected


def test_a_single_hour_in_real_time_is_skipped_or_comes_twice() -> None:
    assert noticed("*/20 2 * * *", "Europe/Berlin") == [
        ("gap_skip", {"date": "2027-03-28", "time": "02:00"}),
        ("fold_both", {"date": "2027-10-31", "time": "02:00"}),
    ]


@pytest.mark.parametrize(
    "expression, zone",
    [
        ("30 2 * * *", "UTC"),
        ("30 2 * * *", "Asia/Kolkata"),
        ("30 4 * * *", "Europe/Berlin"),
        ("30 2 * * 1-6", "Europe/Berlin"),
        ("30 * * * *", "Europe/Berlin"),
        ("*/30 */2 * * *", "Europe/Berlin"),
    ],
)
def test_schedules_that_no_clock_change_touches(expression: str, zone: str) -> None:
    assert noticed(expression, zone) == []


def test_only_the_first_gap_and_the_first_fold_are_told() -> None:
    # The gaps of 2027-03-28 and 2028-03-26 are both less than a year ahead.
    schedule = CronSchedule.parse("30 2 * * *", "Europe/Berlin")
    found = notices(schedule, utc("2027-03-27T12:00Z"))
    assert [(notice.code.value, notice.values["date"]) for notice in found] == [
        ("gap_run_after", "2027-03-28"),
        ("fold_first", "2027-10-31"),
    ]


def test_a_change_of_more_than_three_hours_is_not_told_as_one_of_clocks() -> None:
    # Samoa had no 30 December in 2011; its clocks also went back in April 2012, at 04:00.
    schedule = CronSchedule.parse("0 12 * * *", "Pacific/Apia")
    assert notices(schedule, utc("2011-12-01T00:00Z")) == ()


def test_only_the_year_ahead_counts() -> None:
    schedule = CronSchedule.parse("30 2 28 3 *", "Europe/Berlin")
    assert [notice.code for notice in notices(schedule, NOW)] == [NoticeCode.GAP_RUN_AFTER]
    assert notices(schedule, utc("2027-04-01T00:00Z")) == ()
