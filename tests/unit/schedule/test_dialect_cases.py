from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from django_dyncron.core.exceptions import InvalidCronExpression
from django_dyncron.core.schedule import CronSchedule

from .instants import utc, written

CASES = json.loads((Path(__file__).parents[2] / "data" / "dialect.json").read_text())["cases"]
LEGAL = [case for case in CASES if case["expected"] is not None]
REFUSED = [case for case in CASES if case["expected"] is None]


@pytest.mark.parametrize("case", LEGAL, ids=[case["id"] for case in LEGAL])
def test_legal_expressions_fire_when_they_say(case: dict[str, Any]) -> None:
    schedule = CronSchedule.parse(case["cron_expression"], case["time_zone"])
    slots = schedule.upcoming(utc(case["after"]), len(case["expected"]))
    assert written(slots) == case["expected"]


@pytest.mark.parametrize("case", REFUSED, ids=[case["id"] for case in REFUSED])
def test_the_others_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidCronExpression):
        CronSchedule.parse(case["cron_expression"], case["time_zone"])


def test_there_are_cases_of_both_kinds() -> None:
    assert len(LEGAL) > 15
    assert len(REFUSED) > 10
