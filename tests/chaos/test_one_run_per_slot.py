"""Replicas that race for every slot, on a calm day and while each of them may die at any step."""

from __future__ import annotations

from dataclasses import dataclass

from tests.chaos.faults import CALM, Faults
from tests.chaos.jobs import jobs_on_every_queue
from tests.chaos.scoreboard import Score, seeds, sizes
from tests.chaos.simulator import START, Simulation
from tests.chaos.verdict import every, judge

QUARTER_OF_AN_HOUR = 15 / 1440
CRASHES = Faults(crash=0.05)
EVERYTHING = Faults(crash=0.01, stall=0.002, disconnect=0.02, lock_error=0.1, longest_stall=120)
EVERY_POINT = {
    *(
        "look",
        "pauses",
        "select",
        "ask",
        "asked",
        "lock",
        "commit",
        "claimed",
        "send",
        "sent",
        "release",
    ),
    *("record", "recorded", "beat", "sweep"),
}


@dataclass(frozen=True)
class Size:
    replicas: int
    jobs: int
    minutes: int
    seeds: int


def simulate(seed: int, size: Size, faults: Faults = CALM, **more: object) -> Simulation:
    return Simulation(
        seed,
        jobs_on_every_queue(size.jobs),
        size.minutes,
        replicas=size.replicas,
        faults=faults,
        **more,  # type: ignore[arg-type]
    ).run()


def expected(size: Size) -> dict[str, list]:  # type: ignore[type-arg]
    return {f"job-{number}": every(1, START, size.minutes) for number in range(size.jobs)}


@sizes(short=Size(8, 25, 60, seeds=1), full=Size(8, 200, 1_440, seeds=3))
def test_replicas_that_race(score: Score, size: Size) -> None:
    """Runs are pruned a quarter of an hour after their slot, all day long."""
    for seed in seeds(size.seeds):
        simulation = simulate(seed, size, options={"run_retention_days": QUARTER_OF_AN_HOUR})
        verdict = judge(simulation, expected(size))
        score.add(verdict, seed)
        assert verdict.delivered == verdict.slots == size.jobs * size.minutes
        assert verdict.repeats == 0
        assert max(delivery.late for delivery in simulation.mailbox.deliveries) < 5
        assert len({stored.replica for stored in simulation.runs}) == size.replicas


@sizes(short=Size(4, 20, 20, seeds=5), full=Size(8, 40, 40, seeds=100))
def test_replicas_that_crash_at_any_step(score: Score, size: Size) -> None:
    reached: set[str] = set()
    for seed in seeds(size.seeds):
        simulation = simulate(seed, size, CRASHES)
        verdict = judge(simulation, expected(size))
        score.add(verdict, seed)
        assert simulation.crashes > size.minutes
        assert verdict.delivered > 0.75 * verdict.slots
        reached |= simulation.weather.labels
    assert reached == EVERY_POINT


@sizes(short=Size(4, 12, 30, seeds=2), full=Size(6, 24, 60, seeds=50))
def test_everything_goes_wrong_at_once(score: Score, size: Size) -> None:
    for seed in seeds(size.seeds):
        simulation = simulate(seed, size, EVERYTHING, skew=120.0)
        verdict = judge(simulation, expected(size))
        score.add(verdict, seed)
        assert verdict.delivered > 0.75 * verdict.slots


def test_the_same_seed_takes_the_same_course() -> None:
    size = Size(4, 8, 10, seeds=1)
    courses = [
        simulate(seed, size, Faults(crash=0.02, stall=0.002, disconnect=0.01, lock_error=0.05))
        for seed in (7, 7, 8)
    ]
    traces = [simulation.weather.trace for simulation in courses]
    assert traces[0] == traces[1] != traces[2]
    assert courses[0].mailbox.deliveries == courses[1].mailbox.deliveries
    assert courses[0].weather.points > 500
