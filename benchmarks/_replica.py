"""A replica in a process of its own, whose clock is moved from outside.

Standard input carries one command a line: ``go INSTANT`` sets the clock and wakes the scheduler,
``memory`` asks for the resident memory, the end of the input stops it. Standard output answers in
JSON: after each stretch of work how many runs were handed over so far, when the last of them was
and when the stretch ended, in seconds of the machine's monotonic clock. With ``--real-time`` the
clock is the database's, and each run is reported with its lateness.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import psutil
from asgiref.sync import sync_to_async

from benchmarks._stage import NullEnqueuer, set_django_up
from django_dyncron.core.definitions import Run
from django_dyncron.core.runs import Attempt
from django_dyncron.core.scheduler import DynamicScheduler


class CountingEnqueuer(NullEnqueuer):
    """Counts what it forgets, and notes how late each run is, in seconds."""

    def __init__(self) -> None:
        self.count = 0
        self.lateness: list[float] = []
        self.handed_over_at = time.monotonic()

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        now, self.handed_over_at = time.time(), time.monotonic()
        self.count += len(runs)
        self.lateness += [now - run.scheduled_for.timestamp() for run in runs if run.scheduled_for]
        return await super().enqueue_runs(runs, may_send)


class HeldClock:
    """A clock whose wall time stands still until it is set; waiting takes real time."""

    def __init__(self, at: datetime, report: Callable[[], None]) -> None:
        self._now = at
        self._report = report
        self._moved = asyncio.Event()

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return time.monotonic()

    def move_to(self, at: datetime) -> None:
        self._now = at
        self._moved.set()

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        self._report()
        waits = {asyncio.ensure_future(event.wait()) for event in (wake, self._moved)}
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        self._moved.clear()
        for task in waits:
            task.cancel()


class Reporter:
    """Tells the parent process, when there is news, how far this one has come."""

    def __init__(self, enqueuer: CountingEnqueuer) -> None:
        self._enqueuer = enqueuer
        self._told = -1

    def tell(self) -> None:
        if self._enqueuer.count == self._told:
            return
        self._told = self._enqueuer.count
        say(
            count=self._told,
            at=time.monotonic(),
            handed_over_at=self._enqueuer.handed_over_at,
            lateness=self._enqueuer.lateness,
        )
        self._enqueuer.lateness = []


def say(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


async def run(options: argparse.Namespace) -> None:
    from benchmarks._crowd import lock_providers
    from django_dyncron.repositories.orm import DjangoCronJobRepository

    enqueuer = CountingEnqueuer()
    reporter = Reporter(enqueuer)
    clock = HeldClock(datetime.fromisoformat(options.at).astimezone(UTC), reporter.tell)
    provider = (await sync_to_async(lock_providers)("default", options.redis))[options.lock]
    scheduler = DynamicScheduler(
        DjangoCronJobRepository("default"),
        enqueuer,
        provider,
        clock=None if options.real_time else clock,
        batch_size=options.batch,
        observers=[lambda _: reporter.tell()] if options.real_time else (),
    )
    loop = asyncio.ensure_future(scheduler.start())
    while line := await asyncio.to_thread(sys.stdin.readline):
        command, _, argument = line.strip().partition(" ")
        if command == "go":
            clock.move_to(datetime.fromisoformat(argument))
        else:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            say(memory=psutil.Process().memory_info().rss, peak=peak)
    scheduler.stop()
    await loop
    await scheduler.aclose()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", required=True)
    parser.add_argument("--redis", default="")
    parser.add_argument("--lock", default="none")
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--at", default="2026-11-30T12:00:00+00:00")
    parser.add_argument("--real-time", action="store_true")
    options = parser.parse_args()
    set_django_up(options.database)
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
