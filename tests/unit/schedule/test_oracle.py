"""The product against a brute-force walk over every minute around clock changes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest

from django_dyncron.core import schedule as schedule_module
from django_dyncron.core import search, zones
from django_dyncron.core.exceptions import InvalidCronExpression
from django_dyncron.core.schedule import CronSchedule
from tests.oracle import Expression, WalkedWindow, random_expression, transitions

AROUND = timedelta(days=3)
MINUTE = timedelta(minutes=1)
FIRST_YEAR, LAST_YEAR = 2015, 2037


def windows(random: Random) -> Iterator[WalkedWindow]:
    """One clock change of every zone that has any, each zone once."""
    for zone, instants in transitions(FIRST_YEAR, LAST_YEAR).items():
        yield window_around(zone, random.choice(instants))


def window_around(zone: str, change: datetime) -> WalkedWindow:
    return WalkedWindow(zone, change, change - AROUND, change + AROUND)


def compare(window: WalkedWindow, expression: str, random: Random) -> None:
    policy = {
        "dst_gap": random.choice(["run_after", "skip"]),
        "dst_fold": random.choice(["first", "second", "both"]),
    }
    shown = f"{expression!r} in {window.zone} around {window.change} with {policy}"
    expected = window.slots(expression, **policy)
    schedule = parsed(expression, window.zone, policy)
    if schedule is None:
        assert expected == [], shown
        return
    assert schedule.between(window.after, window.until) == expected, shown
    assert schedule.count_between(window.after, window.until) == len(expected), shown
    bits = schedule.bits_between(window.after, window.until)
    assert bits == sum(1 << (slot - window.after) // MINUTE - 1 for slot in expected), shown
    for instant in starting_points(window, random):
        position = bisect_right(expected, instant)
        if position < len(expected):
            assert schedule.next_after(instant) == expected[position], (shown, instant)
        latest = expected[position - 1] if position else None
        assert schedule.latest_at(instant, after=window.after) == latest, (shown, instant)
        assert schedule.is_slot(instant) is (instant in expected[max(position - 1, 0) : position])
        rest = schedule.count_between(instant, window.until)
        assert rest == len(expected) - position, (shown, instant)


def parsed(expression: str, zone: str, policy: dict[str, str]) -> CronSchedule | None:
    """Parse; ``None`` for a date that never comes, which is all that may be refused here."""
    try:
        return CronSchedule.parse(expression, zone, **policy)
    except InvalidCronExpression as error:
        if "never fires" not in str(error) or (zone not in str(error) and names_a_date(expression)):
            raise
        return None


def starting_points(window: WalkedWindow, random: Random) -> list[datetime]:
    """The clock change give or take a minute, and anywhere, whole minutes or not."""
    seconds = int(2 * AROUND.total_seconds()) - 1
    anywhere = window.after + timedelta(seconds=random.randint(1, seconds))
    near = window.change + timedelta(minutes=random.randint(-200, 200))
    change = window.change
    return [change - MINUTE, change, change + MINUTE, near, anywhere]


def names_a_date(expression: str) -> bool:
    """Look through every shape of year there is."""
    matching = Expression(expression)
    first = date(1996, 1, 1)
    return any(matching.names_date(first + timedelta(days=day)) for day in range(28 * 365 + 7))


def test_every_zone_with_clock_changes() -> None:
    random = Random(20_261_130)
    compared = 0
    for window in windows(random):
        for _ in range(8):
            compare(window, random_expression(random), random)
            compared += 1
    assert compared >= 2000


@pytest.fixture
def short_spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Cut time into spans of 2**12 minutes, so that many clock changes come near a border."""
    bits = 12
    monkeypatch.setattr(zones, "SPAN_BITS", bits)
    monkeypatch.setattr(search, "SPAN_BITS", bits)
    zones.timeline.cache_clear()
    schedule_module._parse.cache_clear()
    yield 1 << bits
    zones.timeline.cache_clear()
    schedule_module._parse.cache_clear()


def test_clock_changes_at_the_border_of_two_spans(short_spans: int) -> None:
    random = Random(12)
    compared = 0
    for zone, instants in transitions(FIRST_YEAR, LAST_YEAR).items():
        near = [instant for instant in instants if is_near_border(instant, short_spans)]
        for instant in near[:1]:
            window = window_around(zone, instant)
            for _ in range(3):
                compare(window, random_expression(random), random)
                compared += 1
    assert compared >= 400


def is_near_border(instant: datetime, span: int) -> bool:
    beyond = int(instant.timestamp()) // 60 % span
    return min(beyond, span - beyond) <= 60


def test_two_clock_changes_in_less_than_a_week() -> None:
    # Gaza in 2040: forward on 20 October and back on the 26th, 6 days and 23 hours later.
    gaza = window_around("Asia/Gaza", datetime(2040, 10, 24, tzinfo=UTC))
    random = Random(20_401_020)
    for _ in range(40):
        compare(gaza, random_expression(random), random)


def test_more_than_three_hours_is_no_clock_change_of_cron() -> None:
    # Samoa left out 30 December 2011 and Vostok set its clocks back by 7 hours: real time rules.
    samoa = window_around("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC))
    vostok = window_around("Antarctica/Vostok", datetime(1994, 1, 31, 17, tzinfo=UTC))
    random = Random(30_122_011)
    for _ in range(40):
        compare(samoa, random_expression(random), random)
        compare(vostok, random_expression(random), random)


@pytest.mark.slow
def test_every_clock_change_of_every_zone() -> None:
    random = Random(20_372_015)
    compared = 0
    for zone, instants in transitions(FIRST_YEAR, LAST_YEAR).items():
        for instant in instants:
            window = window_around(zone, instant)
            for _ in range(11):
                compare(window, random_expression(random), random)
                compared += 1
    assert compared >= 100_000
