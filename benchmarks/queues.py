"""What it costs to hand 2,000 runs to each queue system, beside a bare loop over its own API.

Run it with ``python -m benchmarks.queues``; ``--only NAME`` picks one, ``--rounds N`` sets how
often all ways take turns. Each queue has a process, a database and a Redis of its own, no worker.

``single`` is a loop over the queue's way to enqueue one task, ``batch`` its public way to enqueue a
hundred at a time, ``enqueuer`` ours alone, and ``tick`` the whole way from 2,000 due jobs to the
queue, claims and records included. ``floor`` goes that whole way in plain psycopg and by the
queue's best way.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks._stage import Stage, set_stage
from benchmarks._tables import print_machine, print_table, print_target, ratio_of
from benchmarks.peer.queue import BATCH, SINGLE

ROOT = Path(__file__).resolve().parent.parent
RUNS = 2_000
# Where the queue has a batch way, if only a guarded one of its rows, ours must be twice as fast.
TWICE_AS_FAST = (*BATCH, "django_tasks_db")

Times = dict[str, list[float]]


def measure(stage: Stage, name: str, rounds: int) -> Times:
    database = f"dyncron_queue_{name}"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": f"tests.engines.on_{name}.settings",
        "DYNCRON_TEST_DATABASE_URL": stage.postgres.create_database(database),
        "DYNCRON_TEST_QUEUE_URL": f"{stage.redis_url.rsplit('/', 1)[0]}/9",
    }
    command = [sys.executable, "-m", "benchmarks.peer.queue", name]
    try:
        done = subprocess.run(
            [*command, "--runs", str(RUNS), "--rounds", str(rounds)],
            check=True,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=600,
        )
    finally:
        stage.postgres.drop_database(database)
    times: Times = json.loads(done.stdout.splitlines()[-1])
    return times


def row(name: str, times: Times) -> list[str]:
    per_run = [
        f"{median(times[way]) / RUNS * 1e6:.0f}" if way in times else "-"
        for way in ("single", "batch", "enqueuer", "floor", "tick")
    ]
    best = times.get("batch", times["single"])
    ratios = [
        ratio_of(times["enqueuer"], times["single"]),
        ratio_of(times["tick"], times["single"]),
        ratio_of(times["tick"], best),
        ratio_of(times["floor"], best),
        ratio_of(times["tick"], times["floor"]),
    ]
    return [name, *per_run, *(f"{ratio:.2f}" for ratio in ratios)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=SINGLE, default="")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    names = [options.only] if options.only else list(SINGLE)
    with set_stage() as stage:
        print_machine()
        measured = {name: measure(stage, name, options.rounds) for name in names}
    print_table(
        f"{RUNS:,} runs, microseconds a run",
        [
            *("single", "batch", "enqueuer", "floor", "tick"),
            *("enq/single", "tick/single", "tick/best", "floor/best", "tick/floor"),
        ],
        [row(name, times) for name, times in measured.items()],
    )
    for name, times in measured.items():
        limit = 0.5 if name in TWICE_AS_FAST else 1.2
        print_target(
            f"{name}, enqueuer to a bare loop", ratio_of(times["enqueuer"], times["single"]), limit
        )
        best = times.get("batch", times["single"])
        print_target(f"{name}, a whole tick to its best API", ratio_of(times["tick"], best), 1.2)


if __name__ == "__main__":
    main()
