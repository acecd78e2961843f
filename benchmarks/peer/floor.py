"""The floor, measured like the peers: a plain program in psycopg."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks._jobs import add_minutely
from benchmarks._postgres_floor import PostgresFloor
from benchmarks._stage import BATCH, migrate, set_django_up
from benchmarks.peer._measure import DUE_AT, IDLE_AT, Peer, measure


class Floor:
    note = "sending left out"

    def __init__(self, url: str) -> None:
        self._floor = PostgresFloor(url, BATCH)

    def idle(self) -> None:
        self._floor.work_off(IDLE_AT)

    def work(self) -> int:
        return self._floor.work_off(DUE_AT)


@contextmanager
def open_peer(options: argparse.Namespace) -> Iterator[Peer]:
    set_django_up(options.database)
    migrate("default")
    add_minutely("default", options.jobs, DUE_AT)
    yield Floor(options.database)


if __name__ == "__main__":
    measure(open_peer)
