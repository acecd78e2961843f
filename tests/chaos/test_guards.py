"""The cursor and the unique run row, each while the other is taken away; and the tests of that.

The store has no row locks here, as some databases have none, so that replicas plan the same rows
and sleep on their plans.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import pytest

from django_dyncron.core.policies import RunStatus
from tests.chaos.faults import Faults
from tests.chaos.jobs import QUEUES, job
from tests.chaos.scoreboard import Score, seeds, sizes
from tests.chaos.simulator import START, Actor, SimulatedStore, Simulation
from tests.chaos.stores import ReleaseWithoutClaim, StateOnlySwap, UnlockedStore, UpdatedGuard
from tests.chaos.verdict import Verdict, every, judge

StoreClass = Callable[[Simulation], SimulatedStore]
NAPS = Faults(stall=0.01, longest_stall=150)
SLOW = Faults(latency=0.5)
SLOWER = Faults(latency=4)
_UNFINISHED = (RunStatus.CLAIMED, RunStatus.RUNNING)


@dataclass(frozen=True)
class Size:
    jobs: int
    minutes: int
    seeds: int


# --- what is done to the tables -------------------------------------------------------------------


async def prune_to_nothing(simulation: Simulation) -> None:
    """Delete whatever is finished, every few seconds."""
    runs = simulation.store.runs
    while simulation.elapsed < simulation.minutes * 60:
        await asyncio.sleep(simulation.random.uniform(1, 10))
        finished = [key for key, stored in runs.items() if stored.status not in _UNFINISHED]
        simulation.store.pruned += [runs.pop(key) for key in finished]


async def move_cursors_back(simulation: Simulation) -> None:
    """Set the cursor of some job back to a slot that was claimed before."""
    while simulation.elapsed < simulation.minutes * 60:
        await asyncio.sleep(simulation.random.uniform(5, 40))
        row = simulation.random.choice(list(simulation.store.rows.values()))
        if row.next_run_at is not None:
            moved = row.next_run_at - timedelta(minutes=simulation.random.randint(1, 4))
            row.next_run_at = max(moved, START.replace(second=0) + timedelta(minutes=1))


def simulate(
    seed: int, size: Size, actors: list[Actor], store_class: StoreClass, faults: Faults = NAPS
) -> Verdict:
    simulation = Simulation(
        seed,
        [job(f"job-{number}", **QUEUES[number % 4]) for number in range(size.jobs)],
        size.minutes,
        replicas=4,
        faults=faults,
        actors=actors,
        store_class=store_class,
    ).run()
    expected = {f"job-{number}": every(1, START, size.minutes) for number in range(size.jobs)}
    return judge(simulation, expected)


SHORT, FULL = Size(10, 20, seeds=2), Size(40, 60, seeds=5)


@sizes(short=SHORT, full=FULL)
def test_runs_are_pruned_to_nothing_while_replicas_sleep_on_old_plans(
    score: Score, size: Size
) -> None:
    for seed in seeds(size.seeds):
        score.add(simulate(seed, size, [prune_to_nothing], UnlockedStore), seed)


@sizes(short=SHORT, full=FULL)
def test_cursors_are_moved_back_while_replicas_sleep_on_old_plans(score: Score, size: Size) -> None:
    for seed in seeds(size.seeds):
        score.add(simulate(seed, size, [move_cursors_back], UnlockedStore), seed)


@sizes(short=SHORT, full=FULL)
def test_every_step_is_slow(score: Score, size: Size) -> None:
    for seed in seeds(size.seeds):
        verdict = simulate(seed, size, [], UnlockedStore, SLOW)
        score.add(verdict, seed)
        assert verdict.delivered == verdict.slots


# --- each of these is broken, and must be caught by the very same check ---------------------------


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(
            partial(simulate, actors=[prune_to_nothing], store_class=StateOnlySwap),
            id="a swap that does not compare the slot",
        ),
        pytest.param(
            partial(simulate, actors=[move_cursors_back], store_class=UpdatedGuard),
            id="a run row that is updated where it should be unique",
        ),
        pytest.param(
            partial(simulate, actors=[], store_class=ReleaseWithoutClaim, faults=SLOWER),
            id="a lock released without a claim",
        ),
    ],
)
def test_a_mutant_is_caught(check: Callable[..., Verdict]) -> None:
    verdicts = [check(seed, Size(20, 40, seeds=1)) for seed in (1, 2, 3)]
    assert sum(len(verdict.duplicates) for verdict in verdicts) > 0
    assert {verdict.slots for verdict in verdicts} == {800}
