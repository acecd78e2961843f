"""What 10,000 jobs that are due at once cost, beside a plain program that does the same writes.

Run it with ``python -m benchmarks.burst``; ``--full`` adds rounds, ``--only`` picks a database.
Every round moves a clock that otherwise stands still by a minute, which makes all jobs due again.
The queue forgets what it is given, so that no queue's speed enters. Floor and scheduler take turns
on the same tables, tidied up before each turn; ratios are medians over neighbours.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time

from asgiref.sync import sync_to_async
from django.db import connections

from benchmarks._crowd import lock_providers
from benchmarks._jobs import add_minutely, vacuum
from benchmarks._postgres_floor import PostgresFloor, PostgresLocks, RedisLocks
from benchmarks._sqlite_floor import SqliteFloor
from benchmarks._stage import BATCH, NOON, Stage, scheduler_on, set_stage, url_of
from benchmarks._tables import print_machine, print_table, print_target, ratio_of
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import FakeClock

JOBS = 10_000
MINUTE = 60.0
TARGETS = {"PostgreSQL": 1.3, "SQLite": 2.0}

Burst = Callable[[], Awaitable[int]]


@dataclass
class Contest:
    """Our way and the floor's, on one database; what each took, in seconds of wall and CPU."""

    name: str
    ours: Burst
    floor: Burst
    wall: dict[str, list[float]] = field(default_factory=lambda: {"ours": [], "floor": []})
    cpu: dict[str, list[float]] = field(default_factory=lambda: {"ours": [], "floor": []})

    async def play(self, clock: FakeClock, tidy: Callable[[], None]) -> None:
        for who, burst in (("floor", self.floor), ("ours", self.ours)):
            await sync_to_async(tidy)()
            clock.advance(MINUTE)
            began, cpu = perf_counter(), process_time()
            done = await burst()
            self.wall[who].append(perf_counter() - began)
            self.cpu[who].append(process_time() - cpu)
            assert done == JOBS, (self.name, who, done)

    def forget(self) -> None:
        for figures in (*self.wall.values(), *self.cpu.values()):
            figures.clear()


async def compete(contests: list[Contest], clock: FakeClock, alias: str, rounds: int) -> None:
    """Let all take turns; the first round warms caches up and does not count."""
    gc.freeze()  # as run_dyncron does
    for number in range(rounds + 1):
        for contest in contests:
            await contest.play(clock, lambda: vacuum(alias))
            if number == 0:
                contest.forget()


async def on_postgres(stage: Stage, rounds: int) -> list[Contest]:
    alias = await sync_to_async(stage.postgres_alias)()
    url = url_of(alias)
    await sync_to_async(add_minutely)(alias, JOBS, NOON)
    clock = FakeClock(NOON)
    providers = lock_providers(alias, stage.redis_url)
    floors: dict[str, PostgresFloor] = {
        "none": PostgresFloor(url, BATCH),
        "postgres": PostgresFloor(url, BATCH, PostgresLocks(url)),
        "redis": PostgresFloor(url, BATCH, RedisLocks(stage.redis_url)),
    }
    contests = []
    for lock, floor in floors.items():
        scheduler = scheduler_on(alias, clock, providers[lock])
        contests.append(Contest(lock, _ticking(scheduler), _working(floor, clock)))
    await compete(contests, clock, alias, rounds)
    for floor in floors.values():
        floor.close()
    return contests


async def on_sqlite(stage: Stage, rounds: int) -> list[Contest]:
    alias = await sync_to_async(stage.sqlite_alias)()
    await sync_to_async(add_minutely)(alias, JOBS, NOON)
    clock = FakeClock(NOON)
    floor = SqliteFloor(connections[alias].settings_dict["NAME"], BATCH)
    scheduler = scheduler_on(alias, clock)
    contests = [Contest("none", _ticking(scheduler), _working(floor, clock))]
    await compete(contests, clock, alias, rounds)
    floor.close()
    return contests


def _ticking(scheduler: DynamicScheduler) -> Burst:
    async def burst() -> int:
        result = await scheduler.tick()
        return result.enqueued

    return burst


def _working(floor: PostgresFloor | SqliteFloor, clock: FakeClock) -> Burst:
    async def burst() -> int:
        return floor.work_off(clock.now())

    return burst


def report(database: str, contests: list[Contest]) -> None:
    plain = contests[0].wall["floor"]
    print_table(
        f"{JOBS:,} due at once on {database}, seconds",
        ["floor", "ours", "ratio", "to no locks", "CPU floor", "CPU ours", "CPU ratio"],
        [
            [
                f"lock provider {contest.name}",
                *(f"{median(contest.wall[who]):.2f}" for who in ("floor", "ours")),
                f"{ratio_of(contest.wall['ours'], contest.wall['floor']):.2f}",
                f"{ratio_of(contest.wall['ours'], plain):.2f}",
                *(f"{median(contest.cpu[who]):.2f}" for who in ("floor", "ours")),
                f"{ratio_of(contest.cpu['ours'], contest.cpu['floor']):.2f}",
            ]
            for contest in contests
        ],
    )
    for contest in contests:
        ratio = ratio_of(contest.wall["ours"], contest.wall["floor"])
        print_target(f"{database}, {contest.name}", ratio, TARGETS[database])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", choices=["postgres", "sqlite"], default="")
    options = parser.parse_args()
    rounds = options.rounds or (9 if options.full else 5)
    with set_stage() as stage:
        print_machine()
        if options.only in ("", "postgres"):
            report("PostgreSQL", asyncio.run(on_postgres(stage, rounds)))
        if options.only in ("", "sqlite"):
            report("SQLite", asyncio.run(on_sqlite(stage, rounds)))


if __name__ == "__main__":
    main()
