"""Parsed schedules are kept, by all that tells them apart, and not without bound."""

from __future__ import annotations

from itertools import combinations

from django_dyncron.core import schedule as module
from django_dyncron.core.schedule import CronSchedule


def test_the_same_arguments_give_the_same_schedule() -> None:
    one = CronSchedule.parse("0 6 * * *", "Europe/Rome", dst_fold="both")
    assert CronSchedule.parse("0 6 * * *", "Europe/Rome", dst_fold="both") is one


def test_each_argument_tells_schedules_apart() -> None:
    schedules = [
        CronSchedule.parse("H 6 * * *", "Europe/Rome", hash_id="a"),
        CronSchedule.parse("H 7 * * *", "Europe/Rome", hash_id="a"),
        CronSchedule.parse("H 6 * * *", "Europe/Oslo", hash_id="a"),
        CronSchedule.parse("H 6 * * *", "Europe/Rome", hash_id="b"),
        CronSchedule.parse("H 6 * * *", "Europe/Rome", hash_id="a", dst_gap="skip"),
        CronSchedule.parse("H 6 * * *", "Europe/Rome", hash_id="a", dst_fold="both"),
    ]
    assert all(one is not other for one, other in combinations(schedules, 2))
    assert schedules[2].time_zone == "Europe/Oslo"
    assert (schedules[4].dst_gap, schedules[5].dst_fold) == ("skip", "both")


def test_the_cache_is_bounded() -> None:
    assert module._parse.cache_info().maxsize == 16_384
