"""Schedules in words, and ``manage.py dyncron_preview``."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import translation

from django_dyncron.core.notices import Notice, NoticeCode
from django_dyncron.core.schedule import CronSchedule
from django_dyncron.describe import describe, notice_text, notice_texts
from tests.unit.schedule.instants import utc


@pytest.mark.parametrize(
    "expression, words",
    [
        ("* * * * *", "Every minute"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("0 * * * *", "Every hour"),
        ("@hourly", "Every hour"),
        ("30 * * * *", "At minute 30 of every hour"),
        ("5/15 * * * *", "At minutes 5, 20, 35 and 50 of every hour"),
        ("30 4 * * *", "At 04:30 every day"),
        ("0 9,17 * * 1-5", "At 09:00 and 17:00, on Monday to Friday"),
        ("0 */4 * * *", "At 00:00, 04:00, 08:00, 12:00, 16:00 and 20:00 every day"),
        ("30 */3 * * *", "Every 3 hours from 00:30 every day"),
        ("0 9-17 * * MON-FRI", "Every hour from 09:00 to 17:00, on Monday to Friday"),
        ("30 1,5,9-12,20 * * *", "At minute 30 of the hours 1, 5, 9 to 12 and 20 every day"),
        ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 to 17:59, on Monday to Friday"),
        ("* 3,5,6 * * *", "Every minute from 03:00 to 03:59 and from 05:00 to 06:59 every day"),
        ("1-20,40 0-3 * * *", "At minutes 1 to 20 and 40 from 00:00 to 03:59 every day"),
        ("30 4 1,15 * 5", "At 04:30, on days 1 and 15 of the month or on Friday"),
        ("0 0 1 * *", "At 00:00, on day 1 of the month"),
        ("0 0 L * *", "At 00:00, on the last day of the month"),
        ("0 0 LW * *", "At 00:00, on the last weekday of the month"),
        ("0 0 20,15W * *", "At 00:00, on day 20 and the weekday nearest to day 15 of the month"),
        ("0 0 * * 6,0", "At 00:00, on Saturday and Sunday"),
        ("0 0 * * MON#1", "At 00:00, on the first Monday of the month"),
        ("0 0 * * L5,3", "At 00:00, on Wednesday and the last Friday of the month"),
        (
            "0 0 */10 * 0",
            "At 00:00, on days 1, 11, 21 and 31 of the month, only if it is also on Sunday",
        ),
        ("0 6 * 1-3,7 *", "At 06:00, in January to March and July"),
        ("0 0 29 2 *", "At 00:00, on day 29 of the month, in February"),
        ("@yearly", "At 00:00, on day 1 of the month, in January"),
    ],
)
def test_in_words(expression: str, words: str) -> None:
    assert describe(expression) == words


@pytest.mark.parametrize("expression", ["", "every day", "0 24 * * *", "H H * * *", "@reboot"])
def test_what_cannot_be_read_is_returned_as_it_is(expression: str) -> None:
    assert describe(expression) == expression


def test_a_schedule_knows_what_its_h_stands_for() -> None:
    schedule = CronSchedule.parse("H H * * *", hash_id="shop.send_invoices")
    assert describe(schedule) == "At 16:26 every day"


def test_names_of_days_and_months_are_translated() -> None:
    with translation.override("de"):
        words = describe("0 6 * 3 MON")
    assert "Montag" in words
    assert "März" in words


@pytest.mark.parametrize(
    "code, values, text",
    [
        (
            "every_minute_of_hour",
            {"hours": (3,), "suggestion": "0 3 * * *"},
            "Runs every minute from 03:00 to 03:59. Did you mean 0 3 * * *?",
        ),
        ("many_times_a_day", {"count": 1440}, "Runs 1440 times a day."),
        (
            "either_day",
            {},
            "Runs when either day field matches, the day of the month or the day of the week.",
        ),
        (
            "both_days",
            {},
            "Runs only when both day fields match, because one of them starts with *.",
        ),
        (
            "uneven_step",
            {"field": "minute", "step": 40, "values": (0, 40)},
            "Runs at :00 and :40, not every 40 minutes.",
        ),
        (
            "uneven_step",
            {"field": "hour", "step": 9, "values": (0, 9, 18)},
            "Runs at 00:00, 09:00 and 18:00, not every 9 hours.",
        ),
        (
            "uneven_step",
            {"field": "month", "step": 5, "values": (1, 6, 11)},
            "Runs in January, June and November, not every 5 months.",
        ),
        (
            "uneven_step",
            {"field": "day_of_week", "step": 3, "values": (0, 3, 6)},
            "Runs on Sunday, Wednesday and Saturday, not every 3 days.",
        ),
        (
            "step_restarts",
            {"step": 2},
            "The step of 2 days starts again on the 1st of every month.",
        ),
        (
            "step_too_long",
            {"field": "minute", "step": 61, "value": 0},
            "The step of 61 minutes reaches only :00.",
        ),
        (
            "step_too_long",
            {"field": "day_of_month", "step": 40, "value": 1},
            "The step of 40 days reaches only day 1.",
        ),
        ("short_months", {"day": 31}, "Skips the months that have no day 31."),
        ("leap_years_only", {}, "Runs in leap years only."),
        ("fifth_weekday", {}, "Skips the months that have no fifth such day of the week."),
        (
            "far_away",
            {"date": "2044-02-29"},
            "The next run is more than a year away: 2044-02-29.",
        ),
        (
            "gap_run_after",
            {"date": "2027-03-28", "time": "02:30", "runs_at": "03:00"},
            "On 2027-03-28 the clocks go forward and 02:30 does not exist: runs at 03:00.",
        ),
        (
            "gap_skip",
            {"date": "2027-03-28", "time": "02:30"},
            "On 2027-03-28 the clocks go forward and 02:30 does not exist: it is skipped.",
        ),
        (
            "fold_first",
            {"date": "2026-11-01", "time": "01:30"},
            "On 2026-11-01 the clocks go back and 01:30 comes twice: runs the first time.",
        ),
        (
            "fold_second",
            {"date": "2026-11-01", "time": "01:30"},
            "On 2026-11-01 the clocks go back and 01:30 comes twice: runs the second time.",
        ),
        (
            "fold_both",
            {"date": "2026-11-01", "time": "01:30"},
            "On 2026-11-01 the clocks go back and 01:30 comes twice: runs both times.",
        ),
    ],
)
def test_notices_in_words(code: str, values: dict[str, Any], text: str) -> None:
    assert notice_text(Notice(NoticeCode(code), values)) == text


def test_the_notices_of_a_schedule() -> None:
    schedule = CronSchedule.parse("0 0 29 2 *")
    assert notice_texts(schedule, utc("2026-11-30T00:00Z")) == [
        "Runs in leap years only.",
        "The next run is more than a year away: 2028-02-29.",
    ]


def preview(*arguments: str) -> str:
    output = StringIO()
    call_command("dyncron_preview", *arguments, stdout=output, no_color=True)
    return output.getvalue()


def test_preview_for_people() -> None:
    printed = preview(
        "30 2 * * *", "--time-zone=Europe/Berlin", "--after=2027-03-27T12:00Z", "--count=2"
    )
    assert printed.splitlines() == [
        "At 02:30 every day",
        "On 2027-03-28 the clocks go forward and 02:30 does not exist: runs at 03:00.",
        "On 2027-10-31 the clocks go back and 02:30 comes twice: runs the first time.",
        "Next runs in Europe/Berlin and in UTC:",
        "  2027-03-28T03:00+02:00  2027-03-28T01:00Z",
        "  2027-03-29T02:30+02:00  2027-03-29T00:30Z",
    ]


def test_preview_for_programs() -> None:
    printed = preview(
        "30 1 * * SUN",
        "--time-zone=America/New_York",
        "--dst-fold=both",
        "--after=2026-10-31T00:00Z",
        "--count=3",
        "--json",
    )
    assert json.loads(printed) == {
        "expression": "30 1 * * SUN",
        "canonical": "30 1 * * 0",
        "time_zone": "America/New_York",
        "description": "At 01:30, on Sunday",
        "notices": [
            {
                "code": "fold_both",
                "text": (
                    "On 2026-11-01 the clocks go back and 01:30 comes twice: runs both times."
                ),
            }
        ],
        "next_runs": [
            {"local": "2026-11-01T01:30-04:00", "utc": "2026-11-01T05:30Z"},
            {"local": "2026-11-01T01:30-05:00", "utc": "2026-11-01T06:30Z"},
            {"local": "2026-11-08T01:30-05:00", "utc": "2026-11-08T06:30Z"},
        ],
    }


def test_preview_skips_the_gap_when_told_to() -> None:
    printed = preview(
        "30 2 * * *",
        "--time-zone=Europe/Berlin",
        "--dst-gap=skip",
        "--after=2027-03-27T12:00Z",
        "--count=1",
    )
    assert printed.splitlines()[-1] == "  2027-03-29T02:30+02:00  2027-03-29T00:30Z"


@override_settings(DYNCRON={"TIME_ZONE": "Asia/Kolkata"})
def test_preview_uses_the_zone_of_the_project() -> None:
    printed = preview("0 9 * * *", "--after=2026-01-01T00:00", "--count=1")
    assert printed.splitlines()[-2:] == [
        "Next runs in Asia/Kolkata and in UTC:",
        "  2026-01-01T09:00+05:30  2026-01-01T03:30Z",
    ]


def test_preview_in_utc_says_so_once() -> None:
    printed = preview("0 9 * * *", "--time-zone=UTC", "--after=2026-01-01T00:00", "--count=1")
    assert printed.splitlines() == [
        "At 09:00 every day",
        "Next runs in UTC:",
        "  2026-01-01T09:00Z",
    ]


def test_preview_of_a_job_with_h() -> None:
    printed = preview("H H * * *", "--job-id=shop.send_invoices", "--json")
    assert json.loads(printed)["canonical"] == "26 16 * * *"
    with pytest.raises(CommandError, match="H picks a value by the job id"):
        preview("H H * * *")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["0 24 * * *"], "Hour '24': use 0"),
        (["0 6 * * *", "--time-zone=Europe/Berln"], "did you mean 'Europe/Berlin'"),
        (["0 6 * * *", "--count=0"], "'0': use 1 to 1000"),
        (["0 6 * * *", "--count=many"], "'many': use 1 to 1000"),
        (["0 6 * * *", "--after=tomorrow"], "'tomorrow': use ISO 8601"),
        (["0 6 * * *", "--dst-gap=later"], "invalid choice: 'later'"),
    ],
)
def test_preview_says_what_is_wrong(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        preview(*arguments)
