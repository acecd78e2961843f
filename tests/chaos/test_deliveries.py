"""The ways in which a delivery goes wrong, one at a time, against every kind of queue.

What a queue promises is judged by its own row of the guarantee table; that a guarded task starts
exactly once for each run that reached a worker holds for all of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from uuid import UUID

import pytest

from django_dyncron.core.policies import RunStatus
from tests.chaos.faults import CALM, Faults
from tests.chaos.jobs import QUEUES, job
from tests.chaos.scoreboard import Score, seeds, sizes
from tests.chaos.simulator import START, SimulatedStore, Simulation
from tests.chaos.verdict import every, judge
from tests.chaos.workers import Workers

BEFORE = Faults(crash=0.02, crash_at=frozenset({"claimed", "send"}))
AFTER = Faults(crash=0.02, crash_at=frozenset({"sent", "record"}))
NO_ANSWER = Faults(no_answer=0.05)

KINDS = {
    "inside": QUEUES[0],
    "remembering": QUEUES[1],
    "at least once": QUEUES[2],
    "at most once": QUEUES[3],
}


@dataclass(frozen=True)
class Size:
    jobs: int
    minutes: int

    @property
    def slots(self) -> int:
        return self.jobs * self.minutes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "faults, copies",
    [(BEFORE, 1), (AFTER, 1), (NO_ANSWER, 1), (CALM, 3)],
    ids=["crash before the queue", "crash before the record", "no answer", "redelivery x3"],
)
@sizes(short=Size(10, 20), full=Size(100, 100))
def test_deliveries_that_go_wrong(
    score: Score, size: Size, faults: Faults, copies: int, kind: str
) -> None:
    """Each guarded task starts once for each run that reached a worker, however often it did."""
    (seed,) = seeds(1)
    jobs = [job(f"job-{number}", **KINDS[kind]) for number in range(size.jobs)]
    simulation = Simulation(seed, jobs, size.minutes, replicas=4, faults=faults)
    workers = Workers(simulation, copies)
    simulation.run()
    slots = {each.job_id: every(1, START, size.minutes) for each in jobs}
    verdict = judge(simulation, slots)
    score.add(verdict, seed)
    assert verdict.slots == size.slots

    delivered = Counter(delivery.run_id for delivery in simulation.mailbox.deliveries)
    assert workers.begun == Counter({run_id: n * copies for run_id, n in delivered.items()})
    assert workers.begun_once == Counter(dict.fromkeys(delivered, 1))
    by_status = Counter(stored.status for stored in simulation.runs)
    if kind == "at most once":
        assert by_status[RunStatus.UNKNOWN] + len(delivered) >= size.slots
    else:
        assert len(delivered) == by_status[RunStatus.SUCCEEDED] == size.slots
    _assert_that_it_went_wrong(simulation, faults, kind, by_status, verdict.repeats)


def _assert_that_it_went_wrong(
    simulation: Simulation, faults: Faults, kind: str, by_status: Counter[str], repeats: int
) -> None:
    """Or the test would show nothing."""
    if faults is CALM or kind == "inside":
        return
    assert simulation.weather.struck > 0
    if kind == "at most once":
        assert by_status[RunStatus.UNKNOWN] > 0 or faults is AFTER
    if kind == "at least once" and faults is not BEFORE:
        assert repeats > 0


class ForgetfulStore(SimulatedStore):
    """Broken on purpose: it confirms every start."""

    async def report_start(self, run_id: UUID, job_id: str, task_id: str = "") -> bool:
        self.runs[run_id].started_at = None
        return await super().report_start(run_id, job_id, task_id)


def test_a_store_that_forgets_starts_is_noticed() -> None:
    simulation = Simulation(1, [job("job-0")], 10, store_class=ForgetfulStore)
    workers = Workers(simulation, copies=3)
    simulation.run()
    assert sorted(workers.begun_once.values()) == [3] * 10
