"""django-dyncron, measured like its peers: a null queue, no lock provider."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks._jobs import add_minutely
from benchmarks._stage import migrate, scheduler_on, set_django_up
from benchmarks.peer._measure import DUE_AT, IDLE_AT, Peer, measure
from django_dyncron.testing import FakeClock


class Ours:
    note = "sending left out"

    def __init__(self) -> None:
        self._clock = FakeClock(IDLE_AT)
        self._scheduler = scheduler_on("default", self._clock)
        self._loop = asyncio.new_event_loop()

    def idle(self) -> None:
        self._loop.run_until_complete(self._scheduler.tick())

    def work(self) -> int:
        self._clock.advance((DUE_AT - self._clock.now()).total_seconds())
        return self._loop.run_until_complete(self._scheduler.tick()).enqueued


@contextmanager
def open_peer(options: argparse.Namespace) -> Iterator[Peer]:
    set_django_up(options.database)
    migrate("default")
    add_minutely("default", options.jobs, DUE_AT)
    yield Ours()


if __name__ == "__main__":
    measure(open_peer)
