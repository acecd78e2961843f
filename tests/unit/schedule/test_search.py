"""The surface of a schedule: what it takes, what it returns, and its edges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from random import Random
from zoneinfo import ZoneInfo

import pytest

from django_dyncron.core.schedule import CronSchedule
from tests.oracle import random_expression

from .instants import utc, written

MINUTELY = CronSchedule.parse("* * * * *")


def test_next_is_strictly_later() -> None:
    assert MINUTELY.next_after(utc("2026-01-01T00:00Z")) == utc("2026-01-01T00:01Z")


@pytest.mark.parametrize("seconds", [0.000001, 1, 59.999999])
def test_next_rounds_seconds_up_to_the_slot(seconds: float) -> None:
    instant = utc("2026-01-01T00:00Z") + timedelta(seconds=seconds)
    assert MINUTELY.next_after(instant) == utc("2026-01-01T00:01Z")


def test_latest_includes_the_instant_itself() -> None:
    assert MINUTELY.latest_at(utc("2026-01-01T00:00Z")) == utc("2026-01-01T00:00Z")
    just_before = utc("2026-01-01T00:00Z") - timedelta(microseconds=1)
    assert MINUTELY.latest_at(just_before) == utc("2025-12-31T23:59Z")


def test_latest_stops_at_after_which_is_exclusive() -> None:
    daily = CronSchedule.parse("0 6 * * *")
    at = utc("2026-01-02T05:00Z")
    assert daily.latest_at(at, after=utc("2026-01-01T06:00Z")) is None
    assert daily.latest_at(at, after=utc("2026-01-01T05:59Z")) == utc("2026-01-01T06:00Z")
    assert daily.latest_at(at, after=at) is None


def test_between_excludes_after_and_includes_until() -> None:
    hourly = CronSchedule.parse("@hourly")
    slots = hourly.between(utc("2026-01-01T00:00Z"), utc("2026-01-01T02:00Z"))
    assert written(slots) == ["2026-01-01T01:00Z", "2026-01-01T02:00Z"]


def test_between_is_empty_when_it_ends_before_it_begins() -> None:
    late, early = utc("2026-01-02T00:00Z"), utc("2026-01-01T00:00Z")
    assert MINUTELY.between(late, early) == []
    assert MINUTELY.count_between(late, early) == 0
    assert MINUTELY.between(late, late) == []


def test_upcoming_lists_as_many_as_asked() -> None:
    daily = CronSchedule.parse("0 6 * * *", "Europe/Berlin")
    slots = daily.upcoming(utc("2026-03-28T00:00Z"), 3)
    assert written(slots) == ["2026-03-28T05:00Z", "2026-03-29T04:00Z", "2026-03-30T04:00Z"]
    assert daily.upcoming(utc("2026-03-28T00:00Z"), 0) == []


def test_results_are_aware_utc_whatever_came_in() -> None:
    daily = CronSchedule.parse("0 6 * * *", "Asia/Kolkata")
    for zone in (UTC, ZoneInfo("America/New_York"), timezone(timedelta(hours=-3, minutes=-30))):
        slot = daily.next_after(utc("2026-01-01T00:00Z").astimezone(zone))
        assert slot == utc("2026-01-01T00:30Z")
        assert slot.tzinfo is UTC


def test_the_second_pass_of_a_fold_is_a_later_instant() -> None:
    # Two datetimes of one zone that differ in fold alone compare equal; the instants do not.
    new_york = ZoneInfo("America/New_York")
    hourly = CronSchedule.parse("0 * * * *", "America/New_York")
    first = datetime(2026, 11, 1, 1, 30, tzinfo=new_york)
    assert hourly.next_after(first) == utc("2026-11-01T06:00Z")
    assert hourly.next_after(first.replace(fold=1)) == utc("2026-11-01T07:00Z")


@pytest.mark.parametrize(
    "call",
    [
        lambda naive, aware: MINUTELY.next_after(naive),
        lambda naive, aware: MINUTELY.latest_at(naive),
        lambda naive, aware: MINUTELY.latest_at(aware, after=naive),
        MINUTELY.between,
        lambda naive, aware: MINUTELY.between(aware, naive),
        MINUTELY.count_between,
        lambda naive, aware: MINUTELY.upcoming(naive, 1),
        lambda naive, aware: MINUTELY.is_slot(naive),
    ],
)
def test_naive_datetimes_are_refused(call: object) -> None:
    aware = utc("2026-01-01T00:00Z")
    with pytest.raises(ValueError, match="is naive"):
        call(aware.replace(tzinfo=None), aware)  # type: ignore[operator]


def test_the_edges_of_the_calendar() -> None:
    daily = CronSchedule.parse("0 6 * * *", "Pacific/Kiritimati")
    beginning = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    end = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
    assert daily.next_after(beginning) > beginning
    assert daily.latest_at(beginning) is None
    assert daily.upcoming(end, 5) == []
    with pytest.raises(OverflowError, match="has no slot after"):
        daily.next_after(end)
    latest = daily.latest_at(end)
    assert latest is not None
    assert latest.year == 9998


@pytest.mark.parametrize(
    "expression, after, expected",
    [
        (
            "0 0 29 2 *",
            "2096-01-01T00:00Z",
            ["2096-02-29T00:00Z", "2104-02-29T00:00Z", "2108-02-29T00:00Z"],
        ),
        ("0 0 * 2 MON#5", "2026-01-01T00:00Z", ["2044-02-29T00:00Z", "2072-02-29T00:00Z"]),
        ("0 0 * 2 MON#5", "2072-03-01T00:00Z", ["2112-02-29T00:00Z"]),
        ("0 0 */28 2 TUE", "2026-01-01T00:00Z", ["2028-02-01T00:00Z", "2028-02-29T00:00Z"]),
    ],
)
def test_rare_dates_over_the_turn_of_the_century(
    expression: str, after: str, expected: list[str]
) -> None:
    schedule = CronSchedule.parse(expression)
    slots = schedule.upcoming(utc(after), len(expected))
    assert written(slots) == expected
    before = schedule.latest_at(slots[-1] - timedelta(minutes=1), after=utc(after))
    assert before == (slots[-2] if len(slots) > 1 else None)


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("* * * * *", 525_600),
        ("*/5 * * * *", 105_120),
        ("0 6 * * *", 365),
        ("* * * * 1-5", 375_840),
        ("0 0 31 * *", 7),
        ("0 0 L * *", 12),
        ("0 0 * 2 MON#5", 0),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Australia/Lord_Howe"])
def test_a_year_is_counted_exactly(expression: str, expected: int, zone: str) -> None:
    # From New Year to New Year by the wall clock: the gap and the fold of the year even out.
    midnight = [datetime(year, 1, 1, tzinfo=ZoneInfo(zone)) for year in (2026, 2027)]
    just_before = [instant.astimezone(UTC) - timedelta(minutes=1) for instant in midnight]
    schedule = CronSchedule.parse(expression, zone)
    assert schedule.count_between(*just_before) == expected


def test_a_zone_with_two_changes_in_less_than_a_week() -> None:
    # Gaza in 2040: forward on 20 October, back on the 26th.
    noon = CronSchedule.parse("0 12 * * *", "Asia/Gaza")
    slots = noon.between(utc("2040-10-19T00:00Z"), utc("2040-10-28T00:00Z"))
    assert written(slots) == [
        "2040-10-19T10:00Z",
        "2040-10-20T09:00Z",
        "2040-10-21T09:00Z",
        "2040-10-22T09:00Z",
        "2040-10-23T09:00Z",
        "2040-10-24T09:00Z",
        "2040-10-25T09:00Z",
        "2040-10-26T09:00Z",
        "2040-10-27T10:00Z",
    ]


def test_next_is_constant_up_to_itself() -> None:
    random = Random(7)
    zones = ["UTC", "America/New_York", "Europe/London", "Australia/Lord_Howe", "Africa/Casablanca"]
    start = utc("2024-01-01T00:00Z")
    for _ in range(2000):
        schedule = CronSchedule.parse(legal_expression(random), random.choice(zones))
        instant = start + timedelta(seconds=random.randint(0, 5 * 365 * 86_400))
        slot = schedule.next_after(instant)
        assert slot > instant
        between = instant + (slot - instant) * random.random()
        assert schedule.next_after(min(between, slot - timedelta(microseconds=1))) == slot
        assert schedule.next_after(slot - timedelta(minutes=1)) == slot
        assert schedule.latest_at(slot) == slot
        assert schedule.is_slot(slot)
        previous = schedule.latest_at(instant)
        assert previous is None or schedule.next_after(previous) == slot


def legal_expression(random: Random) -> str:
    while True:
        expression = random_expression(random)
        try:
            CronSchedule.parse(expression)
        except ValueError:
            continue
        return expression
