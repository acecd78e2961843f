"""All orders in which two replicas can claim two slots, and die at any step of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from django_dyncron.testing.tables import Tables
from tests.chaos.explorer import ALL_STEPS, CREATED, FEW_STEPS, FEWEST_STEPS, Case, every_course
from tests.chaos.jobs import job
from tests.chaos.scoreboard import Score, sizes
from tests.chaos.stores import UnlockedTables
from tests.chaos.verdict import every, judge_runs

QUEUES = {
    "inside": {"enqueuer": "inside"},
    "remembering": {"enqueuer": "remembering"},
    "at_least_once": {"delivery": "at_least_once"},
    "at_most_once": {"delivery": "at_most_once"},
}
ENDS_AT = datetime(2026, 11, 30, 12, 2, tzinfo=UTC)


def explore(score: Score, case: Case, step: int) -> None:
    """Judge every course of jobs that run each ``step`` minutes."""
    slots = {one.job_id: every(step, CREATED, 2) for one in case.jobs}
    deaths = set()
    for course in every_course(case):
        verdict = judge_runs(
            case.jobs,
            course.store.runs.values(),
            course.mailbox.deliveries,
            slots,
            may_repeat=course.crashes > 0,
        )
        verdict.faults = course.crashes
        score.add(verdict)
        assert verdict.slots == 2
        assert verdict.repeats <= 2 * course.crashes
        deaths.add(course.crashes)
    assert deaths == {0, 1, 2}


@sizes(short=FEW_STEPS, full=ALL_STEPS)
@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("tables", [Tables, UnlockedTables])
def test_one_job_with_two_missed_slots(
    score: Score, queue: str, tables: type[Tables], size: frozenset[str]
) -> None:
    jobs = [job("report", ends_at=ENDS_AT, **QUEUES[queue])]
    explore(score, Case(jobs, 2, size, tables), step=1)


@sizes(short=FEWEST_STEPS, full=FEW_STEPS)
@pytest.mark.parametrize("queue", QUEUES)
def test_two_jobs_in_batches_of_one(score: Score, queue: str, size: frozenset[str]) -> None:
    jobs = [job(name, "*/2 * * * *", ends_at=ENDS_AT, **QUEUES[queue]) for name in ("one", "two")]
    explore(score, Case(jobs, 1, size), step=2)
