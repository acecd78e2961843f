"""Procrastinate: periodic tasks are declared in code; its queue is the database, and counts."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from procrastinate import App, PsycopgConnector
from procrastinate.periodic import PeriodicDeferrer

from benchmarks.peer._measure import DUE_AT, IDLE_AT, Peer, measure

CHUNK = 100


class Procrastinate:
    note = "its own queue included"

    def __init__(self, deferrer: PeriodicDeferrer, loop: asyncio.AbstractEventLoop) -> None:
        self._deferrer = deferrer
        self._loop = loop
        self._due: Iterable[Any] | None = None

    def idle(self) -> None:
        at = IDLE_AT.timestamp()
        self._deferrer.get_next_tick(at)
        for _ in self._deferrer.get_previous_tasks(at):
            """The first pass notes that all of this minute have been deferred."""

    def work(self) -> int:
        # A pass, as in its loop, but interrupted now and then, so that it can be given up.
        if self._due is None:
            self._due = iter(self._deferrer.get_previous_tasks(DUE_AT.timestamp()))
        chunk = list(islice(self._due, CHUNK))
        self._loop.run_until_complete(self._deferrer.defer_jobs(chunk))
        return len(chunk)


@contextmanager
def open_peer(options: argparse.Namespace) -> Iterator[Peer]:
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    app = App(connector=PsycopgConnector(conninfo=options.database))

    async def report(timestamp: int) -> None:
        """Do nothing: what tasks do is left out."""

    task = app.task(name="report")(report)
    for number in range(options.jobs):
        app.periodic(cron="* * * * *", periodic_id=f"job-{number}")(task)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(app.open_async())
    try:
        loop.run_until_complete(app.schema_manager.apply_schema_async())
        yield Procrastinate(PeriodicDeferrer(app.periodic_registry), loop)
    finally:
        loop.run_until_complete(app.close_async())


if __name__ == "__main__":
    measure(open_peer)
