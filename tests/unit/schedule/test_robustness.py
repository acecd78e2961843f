"""Whatever is typed: a schedule or our own error, and quickly."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from time import process_time

import pytest

from django_dyncron.core.exceptions import InvalidCronExpression
from django_dyncron.core.notices import notices
from django_dyncron.core.schedule import CronSchedule
from tests.oracle import random_expression

from .instants import utc

NOW = utc("2026-03-07T12:00Z")
CHARACTERS = "0123456789*/-,#?LWHRlwhr()@ \t\nMONJANéß\u0660\u2013\x00\ud800"


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Keep the collector, which takes tens of milliseconds here, out of what is timed."""
    gc.disable()
    yield
    gc.enable()


def random_text(random: Random) -> str:
    """Make noise, something huge, or an expression with a few typing errors in it."""
    kind = random.random()
    if kind < 0.1:
        return "".join(random.choice(CHARACTERS) for _ in range(random.randint(0, 40)))
    if kind < 0.15:
        return random.choice("*,-/1LH(") * random.randint(200, 100_000)
    text = random_expression(random)
    for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
        place = random.randint(0, len(text))
        typed = random.choice(["", random.choice(CHARACTERS), random.choice(CHARACTERS)])
        text = text[:place] + typed + text[place + random.randint(0, 2) :]
    return text


def exercise(expression: str, zone: str, dst_gap: str) -> bool:
    try:
        schedule = CronSchedule.parse(expression, zone, dst_gap=dst_gap, hash_id="job")
    except InvalidCronExpression:
        return False
    slot = schedule.next_after(NOW)
    schedule.latest_at(NOW)
    schedule.upcoming(slot, 5)
    schedule.count_between(NOW - timedelta(days=366), NOW)
    schedule.between(NOW, NOW + timedelta(days=1))
    notices(schedule, NOW)
    return True


def survive(size: int) -> int:
    """Try ``size`` texts; return how many were accepted, and fail if one took over 50 ms."""
    random = Random(size)
    accepted = 0
    CronSchedule.parse("* * * * *", "America/New_York")
    for number in range(size):
        if number % 10_000 == 0:
            gc.collect()
        text = random_text(random)
        zone = random.choice(["UTC", "America/New_York", "Europe/Dublin"])
        dst_gap = random.choice(["run_after", "skip"])
        begun = process_time()
        accepted += exercise(text, zone, dst_gap)
        assert process_time() - begun < 0.05, (text[:300], zone, dst_gap)
    return accepted


def test_20_000_random_strings() -> None:
    assert survive(20_000) > 4000


@pytest.mark.slow
def test_1_000_000_random_strings() -> None:
    assert survive(1_000_000) > 200_000


@pytest.mark.parametrize(
    "expression",
    [
        "* * * * *",
        "0 0 29 2 *",
        "0 0 * 2 MON#5",
        "30 2 * 3 SUN#2",
        "0 0 L,LW,1W,15W,31W 2 L0,1#5",
        "59 23 31 12 *",
        "30 2 29 2 SAT",
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Chatham"])
@pytest.mark.parametrize("now", ["0002-01-01T00:00Z", "1969-12-31T23:59Z", "9990-01-01T00:00Z"])
def test_nothing_takes_long_in_any_century(expression: str, zone: str, now: str) -> None:
    begun = process_time()
    schedule = CronSchedule.parse(expression, zone)
    schedule.upcoming(utc(now), 3)
    schedule.latest_at(utc(now))
    assert process_time() - begun < 0.05


def test_a_full_list_in_every_field_is_fine() -> None:
    everything = ",".join(str(minute) for minute in range(0, 60, 2))
    schedule = CronSchedule.parse(f"{everything} * * * *")
    assert schedule.count_between(NOW, NOW + timedelta(days=1)) == 720


def test_many_threads_share_a_schedule() -> None:
    expected = CronSchedule.parse("*/7 1-5 * * 0", "Europe/Lisbon").between(
        NOW, NOW + timedelta(days=400)
    )
    results = []

    def work() -> None:
        schedule = CronSchedule.parse("*/7 1-5 * * 0 ", "Europe/Lisbon")
        results.append(schedule.between(NOW, NOW + timedelta(days=400)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8
    # 45 on each of 58 Sundays, less the hour skipped twice, plus the one that came twice.
    assert len(expected) == 2601
