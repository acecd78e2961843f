"""What it costs that several replicas work off one burst together, and what a flood does to one.

Run it with ``python -m benchmarks.replicas``. One, two and four processes share 10,000 jobs that
are due at once; each crowd has a database of its own, and they take turns. Time stands still in all
of them. ``--full`` adds a flood of 100,000: due at once, and edited at once.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from datetime import timedelta
from statistics import median

from django.db import connections

from benchmarks._crowd import Crowd, crowd_on
from benchmarks._jobs import add_minutely, vacuum
from benchmarks._stage import NOON, Stage, set_stage
from benchmarks._tables import print_machine, print_table, print_target

JOBS = 10_000
FLOOD = 100_000
DUE_IN_FLOOD = 1_000
REPLICAS = (1, 2, 4)
ROUNDS = 5
TARGET = 1.2
MEMORY_TARGET = 200.0
MINUTE = timedelta(minutes=1)


def compare(stage: Stage, lock: str) -> None:
    """Let crowds of each size take turns and print what each needed."""
    seconds: dict[int, list[float]] = {number: [] for number in REPLICAS}
    shares: dict[int, list[float]] = {number: [] for number in REPLICAS}
    with ExitStack() as stack:
        crowds: list[tuple[str, Crowd]] = []
        for number in REPLICAS:
            alias = stage.postgres_alias()
            add_minutely(alias, JOBS, NOON)
            crowd = stack.enter_context(
                crowd_on(stage, alias, number, NOON - MINUTE, "--lock", lock)
            )
            crowds.append((alias, crowd))
        for turn in range(ROUNDS + 1):
            for alias, crowd in crowds:
                vacuum(alias)
                before = [replica.count for replica in crowd.replicas]
                took = crowd.work_off(NOON + turn * MINUTE, JOBS)
                if turn:
                    seconds[len(before)].append(took)
                    shares[len(before)].append(_least_share(crowd, before))
    _print_comparison(lock, seconds, shares)


def _least_share(crowd: Crowd, before: list[int]) -> float:
    pairs = zip(crowd.replicas, before, strict=True)
    return min(replica.count - earlier for replica, earlier in pairs) / JOBS


def _print_comparison(
    lock: str, seconds: dict[int, list[float]], shares: dict[int, list[float]]
) -> None:
    alone = median(seconds[1])
    print_table(
        f"{JOBS:,} due at once, lock provider {lock}, seconds",
        ["median", "ratio to one", "least share"],
        [
            [
                f"replicas: {number}",
                f"{median(seconds[number]):.2f}",
                f"{median(seconds[number]) / alone:.2f}",
                f"{median(shares[number]):.0%}",
            ]
            for number in REPLICAS
        ],
    )
    for number in REPLICAS[1:]:
        print_target(f"{number} replicas, {lock}", median(seconds[number]) / alone, TARGET)


def flood(stage: Stage) -> None:
    """Print what 100,000 jobs due at once, and then 100,000 edited at once, do to one replica."""
    alias = stage.postgres_alias()
    add_minutely(alias, FLOOD, NOON)
    add_minutely(alias, DUE_IN_FLOOD, NOON + MINUTE, first=FLOOD + 1)
    with crowd_on(stage, alias, 1, NOON - MINUTE) as crowd:
        base, _ = crowd.memory()
        took = crowd.work_off(NOON, FLOOD)
        _, peak = crowd.memory()
        vacuum(alias)
        crowd.work_off(NOON + MINUTE, FLOOD + DUE_IN_FLOOD)
        vacuum(alias)
        with connections[alias].cursor() as cursor:
            # By SQL, so that the next tick has to notice and plan them all.
            cursor.execute(
                "UPDATE django_dyncron_cronjob SET cron_expression = '0 0 1 1 *' WHERE id <= %s",
                [FLOOD],
            )
        amid_edits = crowd.work_off(NOON + 2 * MINUTE, DUE_IN_FLOOD, until="handed_over_at")
    print_table(
        f"A flood of {FLOOD:,}, one replica",
        ["seconds"],
        [
            ["all due at once", f"{took:.1f}"],
            [f"{DUE_IN_FLOOD:,} due amid that many edits", f"{amid_edits:.1f}"],
        ],
    )
    print_target("memory above base", (peak - base) / 2**20, MEMORY_TARGET, "MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    with set_stage() as stage:
        print_machine()
        for lock in ("none", "postgres", "redis") if options.full else ("postgres",):
            compare(stage, lock)
        if options.full:
            flood(stage)


if __name__ == "__main__":
    main()
