"""Whole weekends on which clocks change, lived through in six zones: as the slow oracle says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tests.chaos.jobs import QUEUES, job
from tests.chaos.scoreboard import Score, seeds, sizes
from tests.chaos.simulator import Simulation
from tests.chaos.verdict import judge
from tests.oracle import WalkedWindow, random_expression

ZONES = (
    *("America/New_York", "America/Los_Angeles", "America/St_Johns"),
    *("Europe/Berlin", "Europe/London", "Europe/Dublin"),
)
# The Saturday noon before each change, when all clocks of the continent still agree.
WEEKENDS = {
    "US spring": datetime(2026, 3, 7, 12, tzinfo=UTC),
    "EU spring": datetime(2026, 3, 28, 12, tzinfo=UTC),
    "EU autumn": datetime(2026, 10, 24, 12, tzinfo=UTC),
    "US autumn": datetime(2026, 10, 31, 12, tzinfo=UTC),
}
MINUTES = 36 * 60
ONE_HOUR = 1 / 24


@dataclass(frozen=True)
class Size:
    jobs: int
    seeds: int


@pytest.mark.parametrize("start", WEEKENDS.values(), ids=WEEKENDS)
@sizes(short=Size(18, seeds=1), full=Size(300, seeds=1))
def test_a_weekend_on_which_clocks_change(score: Score, size: Size, start: datetime) -> None:
    until = start + timedelta(minutes=MINUTES)
    windows = {zone: WalkedWindow(zone, start, start, until) for zone in ZONES}
    for seed in seeds(size.seeds):
        random = Random(seed)
        jobs, expected = [], {}
        for number in range(size.jobs):
            zone, expression = ZONES[number % len(ZONES)], random_expression(random)
            gap, fold = (
                random.choice(["run_after", "skip"]),
                random.choice(["first", "second", "both"]),
            )
            policies = {"time_zone": zone, "dst_gap": gap, "dst_fold": fold}
            one = job(f"job-{number}", expression, **policies, **QUEUES[number % 2])
            jobs.append(one)
            expected[one.job_id] = windows[zone].slots(expression, gap, fold)
        options = {"run_retention_days": ONE_HOUR}
        simulation = Simulation(seed, jobs, MINUTES, replicas=2, start=start, options=options).run()
        verdict = judge(simulation, expected)
        score.add(verdict, seed)
        assert verdict.delivered == verdict.slots > size.jobs
