"""What a tick costs when nothing is due, from a thousand cron jobs to a million.

Run it with ``python -m benchmarks.idle``; ``--full`` adds a million rows on SQLite, and to the
tables whose plans are explained. All processes share one core, so that work is timed, and not how
long a core that sleeps takes to wake up, which on a virtual machine is as much as a statement; with
``--all-cores`` they do not. The floor is one indexed SELECT through the client library: bare,
and in another thread, which is how a coroutine has to ask for it. All sizes take turns. Time stands
still, so that heartbeat and sweep, which have a rhythm of their own, can be measured apart.

Psycopg prepares a statement that comes again. Django does so only where ``OPTIONS`` say it may, so
its connection is measured with and without them, each beside a floor that does the same; the floor
that is prepared is printed beside the tick that is not, too.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import psutil
import psycopg
from asgiref.sync import sync_to_async
from django.db import connections

from benchmarks._jobs import add_daily
from benchmarks._plans import report_plans
from benchmarks._stage import BATCH, NOON, Stage, scheduler_on, set_stage, url_of
from benchmarks._tables import print_machine, print_table, print_target
from django_dyncron.core.claims import Heartbeat, SweepOrder
from django_dyncron.testing import FakeClock

# Nothing is due yet: the first job of the day comes in half a minute.
MIDNIGHT = NOON + timedelta(hours=12)
NOW = MIDNIGHT - timedelta(seconds=30)
LEASE = timedelta(seconds=60)
Call = Callable[[], Awaitable[object]]

TURNS = 30
CALLS = 40
EDITS = 10
BARE = """
    SELECT due_at FROM django_dyncron_cronjob WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1
"""
TICK, BARE_SELECT, IN_THREAD = "idle tick", "bare SELECT", "in a thread"
PREPARED_SELECT = "prepared"
BEAT, SWEEP = "heartbeat", "sweep"
EDIT, NOTICE = "an edit", "noticing it"


@dataclass
class Table:
    """A table of one size, the calls to time on it, and the microseconds that each took."""

    alias: str
    size: int
    calls: dict[str, Call]
    times: dict[str, list[float]] = field(default_factory=dict)

    async def take_turn(self, first: int) -> None:
        """Time all calls, beginning with another one each turn: the order must not matter."""
        names = list(self.calls)
        first %= len(names)
        for name in names[first:] + names[:first]:
            call = self.calls[name]
            began = perf_counter()
            for _ in range(CALLS):
                await call()
            took = (perf_counter() - began) / CALLS * 1e6
            self.times.setdefault(name, []).append(took)

    async def edit_and_notice(self, minute: int) -> None:
        """Time edits that set a job to ``minute``, and the ticks that plan them."""
        for number in range(EDITS):
            began = perf_counter()
            await self._edit(number, minute)
            edited = perf_counter()
            await self.calls[TICK]()
            self.times.setdefault(EDIT, []).append((edited - began) * 1e6)
            self.times.setdefault(NOTICE, []).append((perf_counter() - edited) * 1e6)

    async def _edit(self, number: int, minute: int) -> None:
        from django_dyncron.models import CronJob

        jobs = CronJob.objects.using(self.alias).filter(job_id=f"job-{number + 1:07}")
        changed = await jobs.aupdate(cron_expression=f"{minute} 5 * * *")
        assert changed == 1

    def median(self, name: str) -> float:
        return median(self.times[name])

    def ratio(self, name: str, floor: str) -> float:
        return self.median(name) / self.median(floor)


def make_table(
    alias: str, size: int, bare: Callable[[], object], prepared: Callable[[], object] | None = None
) -> Table:
    """Fill the database ``alias`` and return what to time on it."""
    from django_dyncron.repositories.orm import DjangoCronJobRepository

    add_daily(alias, size, MIDNIGHT)
    scheduler = scheduler_on(alias, FakeClock(NOW))
    repository = DjangoCronJobRepository(alias)
    heartbeat = Heartbeat(
        replica_id="bench",
        at=NOW,
        tick_interval=timedelta(seconds=30),
        keep=frozenset(),
        lease=LEASE,
    )
    order = SweepOrder(at=NOW, limit=BATCH, replica_id="bench", lease=LEASE)

    async def select(bare: Callable[[], object]) -> object:
        return bare()

    calls: dict[str, Call] = {
        TICK: scheduler.tick,
        BARE_SELECT: partial(select, bare),
        PREPARED_SELECT: partial(select, prepared or bare),
        IN_THREAD: sync_to_async(bare),
        BEAT: lambda: repository.beat(heartbeat),
        SWEEP: lambda: repository.sweep(order),
    }
    return Table(alias, size, calls)


def on_postgres(stage: Stage, size: int, **options: Any) -> Table:
    alias = stage.postgres_alias(**options)
    prepares, does_not = (psycopg.connect(url_of(alias), autocommit=True) for _ in range(2))
    does_not.prepare_threshold = None
    floor = prepares if options else does_not
    return make_table(
        alias,
        size,
        lambda: floor.execute(BARE).fetchone(),
        lambda: prepares.execute(BARE).fetchone(),
    )


def on_sqlite(stage: Stage, size: int) -> Table:
    alias = stage.sqlite_alias()
    file = connections[alias].settings_dict["NAME"]
    connection = sqlite3.connect(file, check_same_thread=False)
    return make_table(alias, size, lambda: connection.execute(BARE).fetchone())


async def measure(tables: list[Table]) -> None:
    for table in tables:
        for _ in range(3):
            await table.calls[TICK]()
    for turn in range(TURNS):
        for table in tables:
            await table.take_turn(turn)
    for minute in range(TURNS // 4):
        for table in tables:
            await table.edit_and_notice(minute)


def report(database: str, tables: list[Table]) -> None:
    floors = [BARE_SELECT, PREPARED_SELECT, IN_THREAD]
    names = [TICK, *floors, BEAT, SWEEP, EDIT, NOTICE]
    print_table(
        f"{database}, microseconds",
        [*names, "tick/bare", "tick/prepared", "tick/thread"],
        [
            [
                f"{table.size:,} idle jobs",
                *(f"{table.median(name):.0f}" for name in names),
                *(
                    f"{table.ratio(TICK, name):.1f}"
                    for name in (BARE_SELECT, PREPARED_SELECT, IN_THREAD)
                ),
            ]
            for table in tables
        ],
    )
    small, large = tables[0], tables[-1]
    if database.startswith("PostgreSQL"):
        worst = max(table.ratio(TICK, BARE_SELECT) for table in tables)
        print_target(f"{database}, idle tick to a bare SELECT", worst, 5)
    for name in (TICK, EDIT, NOTICE):
        ratio = large.median(name) / small.median(name)
        print_target(f"{database}, {name}, {large.size:,} to {small.size:,} jobs", ratio, 2)


async def compare(
    stage: Stage, database: str, make: Callable[[Stage, int], Table], sizes: list[int]
) -> None:
    tables = [await sync_to_async(make)(stage, size) for size in sizes]
    await measure(tables)
    report(database, tables)


def share_one_core() -> None:
    """Keep this process and those it starts on one core, where the system can."""
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        process.cpu_affinity(process.cpu_affinity()[:1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--all-cores", action="store_true")
    options = parser.parse_args()
    if not options.all_cores:
        share_one_core()
    sizes = [1_000, 10_000, 100_000, 1_000_000]
    with set_stage() as stage:
        print_machine()
        asyncio.run(compare(stage, "PostgreSQL", on_postgres, sizes))
        preparing = partial(on_postgres, server_side_binding=True, prepare_threshold=5)
        asyncio.run(compare(stage, "PostgreSQL, prepared", preparing, sizes[:2]))
        asyncio.run(compare(stage, "SQLite", on_sqlite, sizes if options.full else sizes[:-1]))
        report_plans(stage, 1_000_000 if options.full else 100_000)


if __name__ == "__main__":
    main()
