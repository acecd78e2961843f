"""RedBeat: Celery's beat over Redis. What it sends is left out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import time_machine
from celery import Celery
from celery.schedules import crontab
from redbeat import RedBeatScheduler, RedBeatSchedulerEntry

from benchmarks.peer._measure import DUE_AT, IDLE_AT, Peer, measure


class NullScheduler(RedBeatScheduler):
    """Keeps its books, but sends nothing."""

    sent = 0

    def apply_async(self, entry: Any, *arguments: Any, **values: Any) -> Any:
        self.reserve(entry)
        self.sent += 1
        return SimpleNamespace(id="null")


class Redbeat:
    note = "sending left out"

    def __init__(self, scheduler: NullScheduler, traveller: Any) -> None:
        self._scheduler = scheduler
        self._traveller = traveller

    def idle(self) -> None:
        self._scheduler.tick()

    def work(self) -> int:
        self._traveller.move_to(DUE_AT + timedelta(seconds=1))
        before = self._scheduler.sent
        self._scheduler.tick()
        return self._scheduler.sent - before


@contextmanager
def open_peer(options: argparse.Namespace) -> Iterator[Peer]:
    app = Celery("bench", broker="memory://", set_as_current=False)
    app.conf.update(timezone="UTC", redbeat_redis_url=options.redis, redbeat_lock_key=None)
    with time_machine.travel(IDLE_AT, tick=False) as traveller:
        for number in range(options.jobs):
            RedBeatSchedulerEntry(
                f"job-{number}", "shop.report", crontab(), kwargs={"shop": 7}, app=app
            ).save()
        yield Redbeat(NullScheduler(app=app), traveller)


if __name__ == "__main__":
    measure(open_peer)
