"""Clocks that differ, step and stop: the store's clock decides, and nobody runs a slot again."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer
from django_dyncron.testing.rows import StoredRun
from tests.chaos.faults import CALM, Faults
from tests.chaos.jobs import job, jobs_on_every_queue
from tests.chaos.scoreboard import Score, seeds, sizes
from tests.chaos.simulator import START, Simulation
from tests.chaos.verdict import MINUTE, Verdict, every, judge

SKEW = 120.0
STALLS = Faults(stall=0.003, longest_stall=300)


@dataclass(frozen=True)
class Size:
    replicas: int
    jobs: int
    minutes: int
    seeds: int


SHORT, FULL = Size(4, 10, 60, seeds=2), Size(8, 50, 240, seeds=5)


def simulate(seed: int, size: Size, faults: Faults = CALM, **more: object) -> Simulation:
    return Simulation(
        seed,
        jobs_on_every_queue(size.jobs),
        size.minutes,
        replicas=size.replicas,
        faults=faults,
        **more,  # type: ignore[arg-type]
    ).run()


def expected(size: Size, minutes: int | None = None) -> dict[str, list[datetime]]:
    slots = every(1, START, size.minutes if minutes is None else minutes)
    return {f"job-{number}": slots for number in range(size.jobs)}


@sizes(short=SHORT, full=FULL)
def test_machines_whose_clocks_differ_by_minutes(score: Score, size: Size) -> None:
    for seed in seeds(size.seeds):
        simulation = simulate(seed, size, skew=SKEW)
        verdict = judge(simulation, expected(size))
        score.add(verdict, seed)
        lateness = [delivery.late for delivery in simulation.mailbox.deliveries]
        assert (verdict.repeats, min(lateness) >= 0, max(lateness) < 5) == (0, True, True)


@sizes(short=SHORT, full=FULL)
def test_replicas_that_freeze_between_any_two_steps(score: Score, size: Size) -> None:
    for seed in seeds(size.seeds):
        simulation = simulate(seed, size, STALLS)
        verdict = judge(simulation, expected(size))
        score.add(verdict, seed)
        assert simulation.weather.struck > 10
        assert verdict.delivered > 0.8 * verdict.slots


# --- the store's clock steps ----------------------------------------------------------------------

LATER_THAN_ANY_STEP = datetime(2050, 1, 1, tzinfo=UTC)


@dataclass
class Steps:
    """Sets the store's clock back by up to a day or ahead by up to 400, every few minutes.

    ``passed`` is the latest instant that the clock has come to and that replicas had time to see.
    """

    furthest: tuple[timedelta, timedelta]
    passed: datetime = START
    count: int = 0

    async def __call__(self, simulation: Simulation) -> None:
        while simulation.elapsed < simulation.minutes * 60 - 300:
            await asyncio.sleep(simulation.random.uniform(150, 300))
            self.note(simulation)
            back, ahead = self.furthest
            limit = simulation.random.choice([back, ahead])
            simulation.clock.step(limit * simulation.random.random() ** 4)
            self.count += 1

    def note(self, simulation: Simulation) -> None:
        self.passed = max(self.passed, simulation.clock() - timedelta(minutes=1))


def judge_stretch(simulation: Simulation, passed: datetime) -> Verdict:
    """Judge minutely jobs up to ``passed``: no minute twice, none without a row or a range."""
    verdict = Verdict()
    times = Counter((one.job_id, one.slot) for one in simulation.mailbox.deliveries)
    verdict.duplicates = [(job, f"{slot}") for (job, slot), count in times.items() if count > 1]
    rows: dict[str, list[StoredRun]] = defaultdict(list)
    for stored in simulation.runs:
        rows[stored.run.job_id].append(stored)
    for job_id, of_job in rows.items():
        verdict.slots += len(of_job)
        verdict.delivered += sum(stored.status == "enqueued" for stored in of_job)
        verdict.losses += [(job_id, f"{gap}") for gap in gaps(of_job, START, passed)]
    return verdict


def gaps(runs: list[StoredRun], after: datetime, until: datetime) -> Iterator[datetime]:
    """Yield the first minute of each stretch in ``(after, until]`` for which there is no row."""
    reached = after.replace(second=0)
    for first, last in sorted(stretches(runs)):
        if first > reached + MINUTE and reached + MINUTE <= until:
            yield reached + MINUTE
        reached = max(reached, last)
    if reached + MINUTE <= until:
        yield reached + MINUTE


def stretches(runs: list[StoredRun]) -> Iterator[tuple[datetime, datetime]]:
    for stored in runs:
        assert stored.run.scheduled_for is not None
        yield stored.run.scheduled_for, stored.until or stored.run.scheduled_for


DAY = timedelta(days=1)
STEPS = {
    "by seconds": (-0.5 * MINUTE, 0.5 * MINUTE),
    "by hours": (-3 * MINUTE * 60, 3 * MINUTE * 60),
    "by days": (-DAY, 400 * DAY),
}


@pytest.mark.parametrize("furthest", STEPS.values(), ids=STEPS)
@sizes(short=SHORT, full=FULL)
def test_the_clock_steps(score: Score, size: Size, furthest: tuple[timedelta, timedelta]) -> None:
    for seed in seeds(size.seeds):
        steps = Steps(furthest)
        jobs = jobs_on_every_queue(
            size.jobs, misfire_policy="fire_once", ends_at=LATER_THAN_ANY_STEP
        )
        simulation = Simulation(
            seed, jobs, size.minutes, replicas=size.replicas, actors=[steps]
        ).run()
        verdict = judge_stretch(simulation, steps.passed)
        verdict.faults = steps.count
        score.add(verdict, seed)
        assert steps.count >= size.minutes // 6


async def test_a_long_stretch_is_recorded_though_its_first_slot_has_a_row() -> None:
    """The clock stepped back onto a slot that had run, then ahead by more than a hundred slots."""
    clock = FakeClock("2026-11-30T12:00:30Z")
    store = InMemoryRepository(clock=clock.now)
    store.add(job("report", misfire_policy="fire_once"))
    scheduler = DynamicScheduler(store, RecordingEnqueuer(), clock=clock)
    await scheduler.tick()
    clock.advance(30)
    await scheduler.tick()
    store.row("report").next_run_at = datetime(2026, 11, 30, 12, 1, tzinfo=UTC)
    clock.advance(9_000)
    await scheduler.tick()
    passed = datetime(2026, 11, 30, 14, 31, tzinfo=UTC)
    assert list(gaps(list(store.runs.values()), START, passed)) == []
