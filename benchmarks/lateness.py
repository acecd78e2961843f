"""How long after its minute a run is handed over, with a thousand jobs in every minute.

Run it with ``python -m benchmarks.lateness``. Real time: four replicas for one minute, then the
floor for one, a plain loop in psycopg that sleeps, claims, plans and hands over; ``--full`` gives
each five minutes, in turn. The queue forgets what it is given.
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime, timedelta
from statistics import median, quantiles

from benchmarks._crowd import Crowd, crowd_on
from benchmarks._jobs import add_minutely, vacuum
from benchmarks._postgres_floor import PostgresFloor
from benchmarks._stage import BATCH, Stage, set_stage, url_of
from benchmarks._tables import print_machine, print_table, print_target

JOBS = 1_000
REPLICAS = 4
MINUTE = timedelta(minutes=1)


def coming_minute(spare_seconds: float) -> datetime:
    """Return the next full minute that is at least ``spare_seconds`` away."""
    soon = datetime.now(UTC) + timedelta(seconds=spare_seconds)
    return soon.replace(second=0, microsecond=0) + MINUTE


def late_replicas(crowd: Crowd) -> list[float]:
    """Return the lateness of the runs of one minute, in seconds."""
    lateness: list[float] = []
    while len(lateness) < JOBS:
        lateness += crowd.hear().get("lateness", [])
    return lateness


def late_floor(alias: str, at: datetime) -> list[float]:
    """Sleep until ``at`` and do what is due, as a program would that has nothing else to do."""
    floor = PostgresFloor(url_of(alias), BATCH)
    time.sleep(max((at - datetime.now(UTC)).total_seconds(), 0))
    assert floor.work_off(at) == JOBS
    floor.close()
    return [moment - at.timestamp() for moment in floor.handed_over_at]


def minute_of_replicas(stage: Stage, minutes: int) -> list[float]:
    alias = stage.postgres_alias()
    first = coming_minute(5)
    add_minutely(alias, JOBS, first)
    lateness = []
    with crowd_on(stage, alias, REPLICAS, first, "--real-time") as crowd:
        for _ in range(minutes):
            lateness += late_replicas(crowd)
            vacuum(alias)
    return lateness


def minute_of_floor(stage: Stage, minutes: int) -> list[float]:
    alias = stage.postgres_alias()
    first = coming_minute(1)
    add_minutely(alias, JOBS, first)
    lateness = []
    for number in range(minutes):
        lateness += late_floor(alias, first + number * MINUTE)
        vacuum(alias)
    return lateness


def row(name: str, lateness: list[float]) -> list[str]:
    figures = [median(lateness), percentile(lateness, 99), max(lateness)]
    return [name, *(f"{seconds * 1e3:.0f}" for seconds in figures)]


def percentile(lateness: list[float], percent: int) -> float:
    return quantiles(lateness, n=100)[percent - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true")
    minutes = 5 if parser.parse_args().full else 1
    with set_stage() as stage:
        print_machine()
        ours = minute_of_replicas(stage, minutes)
        floor = minute_of_floor(stage, minutes)
    print_table(
        f"{JOBS:,} jobs a minute, milliseconds from the minute to the queue",
        ["median", "p99", "last"],
        [row(f"replicas: {REPLICAS}", ours), row("a plain loop", floor)],
    )
    print_target("median", median(ours) * 1e3, 100, "ms")
    print_target("p99", percentile(ours, 99) * 1e3, 200, "ms")


if __name__ == "__main__":
    main()
