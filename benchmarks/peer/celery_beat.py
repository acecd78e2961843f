"""django-celery-beat: the database scheduler of Celery's beat. What it sends is left out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import time_machine

from benchmarks.peer import _django
from benchmarks.peer._measure import DUE_AT, IDLE_AT, Peer, measure


class Beat:
    note = "sending left out; one run a pass"

    def __init__(self, scheduler: Any, traveller: Any) -> None:
        self._scheduler = scheduler
        self._traveller = traveller

    def idle(self) -> None:
        self._scheduler.tick()

    def work(self) -> int:
        self._traveller.move_to(DUE_AT + timedelta(seconds=1))
        before = self._scheduler.sent
        self._scheduler.tick()
        return int(self._scheduler.sent - before)


@contextmanager
def open_peer(options: argparse.Namespace) -> Iterator[Peer]:
    _django.set_up(options.database, "django_celery_beat")
    from celery import Celery
    from django_celery_beat.models import CrontabSchedule, PeriodicTask, PeriodicTasks
    from django_celery_beat.schedulers import DatabaseScheduler

    class NullScheduler(DatabaseScheduler):
        sent = 0

        def apply_async(self, entry: Any, *arguments: Any, **values: Any) -> Any:
            self.sent += 1
            return SimpleNamespace(id="null")

    with time_machine.travel(IDLE_AT, tick=False) as traveller:
        crontab = CrontabSchedule.objects.create(minute="*")
        PeriodicTask.objects.bulk_create(
            PeriodicTask(
                name=f"job-{number}",
                task="shop.report",
                crontab=crontab,
                kwargs='{"shop": 7}',
                last_run_at=DUE_AT - timedelta(minutes=1),
            )
            for number in range(options.jobs)
        )
        PeriodicTasks.update_changed()
        app = Celery("bench", broker="memory://", set_as_current=False)
        app.conf.timezone = "UTC"
        yield Beat(NullScheduler(app=app), traveller)


if __name__ == "__main__":
    measure(open_peer)
