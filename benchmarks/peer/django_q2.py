"""django-q2: its scheduler over the database. What its broker does is left out."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import time_machine

from benchmarks.peer import _django
from benchmarks.peer._measure import DUE_AT, IDLE_AT, Peer, measure


class DjangoQ2:
    note = "sending left out; one transaction"

    def __init__(self, broker: Any, traveller: Any) -> None:
        self._broker = broker
        self._traveller = traveller

    def idle(self) -> None:
        from django_q.scheduler import scheduler

        scheduler(self._broker)

    def work(self) -> int:
        self._traveller.move_to(DUE_AT + timedelta(seconds=1))
        before = self._broker.taken
        self.idle()
        return int(self._broker.taken - before)


@contextmanager
def open_peer(options: argparse.Namespace) -> Iterator[Peer]:
    cluster = {"name": "bench", "orm": "default", "catch_up": False, "log_level": "ERROR"}
    _django.set_up(options.database, "django_q", Q_CLUSTER=cluster)
    from django_q.brokers import Broker
    from django_q.models import Schedule

    class NullBroker(Broker):
        taken = 0

        def enqueue(self, task: str) -> str:
            self.taken += 1
            return "null"

    logging.getLogger("django-q").setLevel(logging.ERROR)
    with time_machine.travel(IDLE_AT, tick=False) as traveller:
        Schedule.objects.bulk_create(
            Schedule(
                name=f"job-{number}",
                func="shop.report",
                kwargs="{'shop': 7}",
                schedule_type=Schedule.CRON,
                cron="* * * * *",
                next_run=DUE_AT,
            )
            for number in range(options.jobs)
        )
        yield DjangoQ2(NullBroker(), traveller)


if __name__ == "__main__":
    measure(open_peer)
