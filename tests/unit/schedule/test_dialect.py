"""What the less common spellings mean, and how they are spelt canonically."""

from __future__ import annotations

from random import Random

import pytest

from django_dyncron.core.exceptions import InvalidCronExpression
from django_dyncron.core.schedule import CronSchedule
from tests.oracle import random_expression

from .instants import utc, written

NEW_YEAR = utc("2026-01-01T00:00Z")


@pytest.mark.parametrize(
    "expression, canonical",
    [
        ("0 6 * * *", "0 6 * * *"),
        (" 00  6\t* * * ", "0 6 * * *"),
        ("*/1 */2 * * *", "* */2 * * *"),
        ("5/15 0-23/1 ? jan,Feb ?", "5-59/15 0-23 * 1,2 *"),
        ("0 0 * * SUN", "0 0 * * 0"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * fri-7", "0 0 * * 5-7"),
        ("0 0 * * 5L,L6,friL,LFRI", "0 0 * * L5,L6,L5,L5"),
        ("0 0 * * mon#1,7#5", "0 0 * * 1#1,0#5"),
        ("0 0 l,lw,015w * *", "0 0 L,LW,15W * *"),
        ("@HOURLY", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        (" @annually\n", "0 0 1 1 *"),
    ],
)
def test_canonical_form(expression: str, canonical: str) -> None:
    schedule = CronSchedule.parse(expression)
    assert schedule.canonical == canonical
    assert schedule.expression == expression
    assert CronSchedule.parse(canonical).canonical == canonical


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("0 0 31W * *", ["2026-01-30T00:00Z", "2026-03-31T00:00Z", "2026-05-29T00:00Z"]),
        ("0 0 1W * *", ["2026-02-02T00:00Z", "2026-03-02T00:00Z", "2026-04-01T00:00Z"]),
        ("0 0 15,LW * *", ["2026-01-15T00:00Z", "2026-01-30T00:00Z", "2026-02-15T00:00Z"]),
        ("0 0 * * L5", ["2026-01-30T00:00Z", "2026-02-27T00:00Z", "2026-03-27T00:00Z"]),
        ("0 0 * * 5L", ["2026-01-30T00:00Z", "2026-02-27T00:00Z", "2026-03-27T00:00Z"]),
        ("0 0 * * MON#5", ["2026-03-30T00:00Z", "2026-06-29T00:00Z", "2026-08-31T00:00Z"]),
        ("0 0 * * 6#1,TUE", ["2026-01-03T00:00Z", "2026-01-06T00:00Z", "2026-01-13T00:00Z"]),
        ("0 0 * * 5-7", ["2026-01-02T00:00Z", "2026-01-03T00:00Z", "2026-01-04T00:00Z"]),
        ("0 0 * * 1-7/3", ["2026-01-04T00:00Z", "2026-01-05T00:00Z", "2026-01-08T00:00Z"]),
        ("0 0 L * 1", ["2026-01-05T00:00Z", "2026-01-12T00:00Z", "2026-01-19T00:00Z"]),
        ("*/61 0 * * *", ["2026-01-02T00:00Z", "2026-01-03T00:00Z"]),
        ("50/15 0 * * *", ["2026-01-01T00:50Z", "2026-01-02T00:50Z"]),
        # A list that begins with a star is a star to crontab(5), one that holds it later is not.
        ("0 0 *,5 * 1", ["2026-01-05T00:00Z", "2026-01-12T00:00Z"]),
        ("0 0 5,* * 1", ["2026-01-02T00:00Z", "2026-01-03T00:00Z"]),
        # 1-31 is every day, yet no star: either field matches.
        ("0 0 1-31 * 1", ["2026-01-02T00:00Z", "2026-01-03T00:00Z"]),
    ],
)
def test_meaning(expression: str, expected: list[str]) -> None:
    schedule = CronSchedule.parse(expression)
    assert written(schedule.upcoming(NEW_YEAR, len(expected))) == expected


@pytest.mark.parametrize(
    "expression, expected",
    [
        # A range over all values is no star either: a fixed time, in the first pass only.
        ("30 0-23 * * *", ["2026-11-01T04:30Z", "2026-11-01T05:30Z", "2026-11-01T07:30Z"]),
        ("30 */1 * * *", ["2026-11-01T04:30Z", "2026-11-01T05:30Z", "2026-11-01T06:30Z"]),
        ("*/30,5 1 * * *", ["2026-11-01T05:00Z", "2026-11-01T05:05Z", "2026-11-01T05:30Z"]),
    ],
)
def test_a_range_over_everything_is_no_star_when_clocks_change(
    expression: str, expected: list[str]
) -> None:
    schedule = CronSchedule.parse(expression, "America/New_York")
    assert written(schedule.upcoming(utc("2026-11-01T04:00Z"), 3)) == expected


def test_the_canonical_form_fires_at_the_same_instants() -> None:
    random = Random(2)
    until = utc("2027-01-01T00:00Z")
    compared = 0
    while compared < 300:
        expression = random_expression(random)
        try:
            schedule = CronSchedule.parse(expression, "Europe/London")
        except InvalidCronExpression:
            continue
        again = CronSchedule.parse(schedule.canonical, "Europe/London")
        assert again.upcoming(NEW_YEAR, 50) == schedule.upcoming(NEW_YEAR, 50), expression
        assert again.count_between(NEW_YEAR, until) == schedule.count_between(NEW_YEAR, until)
        assert again.fields.is_fixed_time is schedule.fields.is_fixed_time
        compared += 1
