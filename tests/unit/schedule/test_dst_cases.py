from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from django_dyncron.core.schedule import CronSchedule

from .instants import utc, written

CASES = json.loads((Path(__file__).parents[2] / "data" / "dst.json").read_text())["cases"]
POLICIES = {
    "default": {},
    "skip_both": {"dst_gap": "skip", "dst_fold": "both"},
    "skip_first": {"dst_gap": "skip", "dst_fold": "first"},
}

every_case = pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
every_policy = pytest.mark.parametrize("policy", POLICIES)


def schedule_of(case: dict[str, Any], policy: str) -> CronSchedule:
    return CronSchedule.parse(case["cron_expression"], case["time_zone"], **POLICIES[policy])


@every_policy
@every_case
def test_between_lists_the_slots(case: dict[str, Any], policy: str) -> None:
    slots = schedule_of(case, policy).between(utc(case["after"]), utc(case["until"]))
    assert written(slots) == case[policy]


@every_policy
@every_case
def test_counting_agrees(case: dict[str, Any], policy: str) -> None:
    count = schedule_of(case, policy).count_between(utc(case["after"]), utc(case["until"]))
    assert count == len(case[policy])


@every_policy
@every_case
def test_stepping_forward_visits_each_slot_once(case: dict[str, Any], policy: str) -> None:
    schedule = schedule_of(case, policy)
    assert written(schedule.upcoming(utc(case["after"]), len(case[policy]))) == case[policy]


@every_policy
@every_case
def test_stepping_backward_visits_each_slot_once(case: dict[str, Any], policy: str) -> None:
    schedule = schedule_of(case, policy)
    found: list[datetime] = []
    slot = schedule.latest_at(utc(case["until"]), after=utc(case["after"]))
    while slot is not None:
        found.insert(0, slot)
        slot = schedule.latest_at(slot - timedelta(microseconds=1), after=utc(case["after"]))
    assert written(found) == case[policy]


@every_policy
@every_case
def test_slots_are_slots_and_their_neighbours_are_not(case: dict[str, Any], policy: str) -> None:
    schedule = schedule_of(case, policy)
    for text in case[policy]:
        assert schedule.is_slot(utc(text))
        assert not schedule.is_slot(utc(text) + timedelta(seconds=1))
        assert not schedule.is_slot(utc(text) - timedelta(microseconds=1))


def test_there_are_cases() -> None:
    assert len(CASES) >= 40
