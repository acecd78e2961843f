"""``H``: these values are a promise, since another rule would move everybody's jobs."""

from __future__ import annotations

from collections import Counter

import pytest

from django_dyncron.core.exceptions import InvalidCronExpression
from django_dyncron.core.schedule import CronSchedule


def canonical(expression: str, job_id: str) -> str:
    return CronSchedule.parse(expression, hash_id=job_id).canonical


@pytest.mark.parametrize(
    "expression, job_id, expected",
    [
        ("H H * * *", "shop.send_invoices", "26 16 * * *"),
        ("h h * * *", "shop.send_invoices", "26 16 * * *"),
        ("H H * * *", "reports.nightly", "4 8 * * *"),
        ("H/15 * * * *", "shop.send_invoices", "11-59/15 * * * *"),
        ("H(0-29) * * * *", "shop.send_invoices", "26 * * * *"),
        ("H(0-29)/10 * * * *", "shop.send_invoices", "6-29/10 * * * *"),
        ("H(30-59)/10 * * * *", "shop.send_invoices", "36-59/10 * * * *"),
        ("H H H H H", "shop.send_invoices", "26 16 13 12 4"),
        ("0 0 * * H(MON-FRI)", "shop.send_invoices", "0 0 * * 2"),
        ("H,30 9-17/2 * * THU", "shop.send_invoices", "26,30 9-17/2 * * 4"),
        ("H H * * *", "\u20ac", "5 22 * * *"),
    ],
)
def test_values_never_change(expression: str, job_id: str, expected: str) -> None:
    assert canonical(expression, job_id) == expected


def test_a_job_id_matters_only_with_h() -> None:
    one = CronSchedule.parse("0 6 * * 1-5", hash_id="one")
    assert CronSchedule.parse("0 6 * * 1-5", hash_id="other") is one
    assert CronSchedule.parse("0 6 * * 1-5") is one


def test_values_spread_evenly() -> None:
    minutes: Counter[int] = Counter()
    hours: Counter[int] = Counter()
    pairs: Counter[str] = Counter()
    for number in range(6000):
        minute, hour, *_ = canonical("H H * * *", f"job-{number}").split()
        minutes[int(minute)] += 1
        hours[int(hour)] += 1
        pairs[f"{hour}:{minute}"] += 1
    assert len(minutes) == 60
    assert len(hours) == 24
    assert max(minutes.values()) < 150  # 100 on average
    assert max(hours.values()) < 320  # 250 on average
    assert len(pairs) > 1350  # of 1440: the minute says nothing of the hour


def test_every_day_it_picks_exists_in_every_month() -> None:
    days = {int(canonical("0 0 H * *", f"job-{number}").split()[2]) for number in range(2000)}
    assert days == set(range(1, 29))


def test_a_step_starts_within_the_first_one() -> None:
    starts = set()
    for number in range(500):
        item = canonical("H/15 * * * *", f"job-{number}").split()[0]
        start, _, rest = item.partition("-")
        assert rest == "59/15"
        starts.add(int(start))
    assert starts == set(range(15))


@pytest.mark.parametrize("expression", ["H(0-29)/40 * * * *", "H/90 * * * *"])
def test_a_step_longer_than_the_range_picks_one_value(expression: str) -> None:
    for number in range(100):
        assert canonical(expression, f"job-{number}").split()[0].isdigit()


@pytest.mark.parametrize(
    "expression, message",
    [
        ("H(0-99) * * * *", "Minute 'H\\(0-99\\)': use 0.59"),
        ("H(5-5) * * * *", "the range holds one value, use 5"),
        ("H(50-10) * * * *", "ranges do not wrap around, use 50-59,0-10"),
        ("H/0 * * * *", "a step of 0 never moves on"),
        ("H(0-29 * * * *", "use H, H/15, H\\(0-29\\) or H\\(0-29\\)/10"),
        ("H5 * * * *", "use H, H/15, H\\(0-29\\) or H\\(0-29\\)/10"),
        ("0 0 * * H#1", "use H, H/15, H\\(0-29\\) or H\\(0-29\\)/10"),
    ],
)
def test_what_is_wrong_with_an_h_is_named(expression: str, message: str) -> None:
    with pytest.raises(InvalidCronExpression, match=message):
        CronSchedule.parse(expression, hash_id="job")
    with pytest.raises(InvalidCronExpression, match=message):
        CronSchedule.parse(expression)
