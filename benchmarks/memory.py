"""What a replica keeps in memory for a thousand idle cron jobs, and for a million.

Run it with ``python -m benchmarks.memory``. Each is a process of its own that has ticked for some
seconds; its resident memory is asked for after that.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import timedelta

from benchmarks._crowd import crowd_on
from benchmarks._jobs import add_daily
from benchmarks._stage import NOON, set_stage
from benchmarks._tables import print_machine, print_table, print_target

SIZES = (1_000, 1_000_000)
TARGET = 10.0
NOW = NOON + timedelta(hours=12, seconds=-30)
TICKS = 50


def main() -> None:
    memory: dict[int, int] = {}
    with set_stage() as stage, ExitStack() as stack:
        print_machine()
        for size in SIZES:
            alias = stage.postgres_alias()
            add_daily(alias, size, NOW + timedelta(seconds=30))
            crowd = stack.enter_context(crowd_on(stage, alias, 1, NOW))
            for number in range(TICKS):
                # Each wakes the replica, which finds nothing due.
                crowd.replicas[0].say(
                    f"go {(NOW + number * timedelta(microseconds=1)).isoformat()}"
                )
                time.sleep(0.02)
            memory[size], _ = crowd.memory()
    print_table(
        f"Resident memory after {TICKS} ticks, MiB",
        ["MiB"],
        [[f"{size:,} idle jobs", f"{of / 2**20:.1f}"] for size, of in memory.items()],
    )
    more = (memory[SIZES[1]] - memory[SIZES[0]]) / 2**20
    print_target(f"{SIZES[1]:,} jobs above {SIZES[0]:,}", more, TARGET, "MiB")


if __name__ == "__main__":
    main()
