"""APScheduler 3 with its SQLAlchemy job store. What it executes is left out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import time_machine
from apscheduler.executors.base import BaseExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.base import BaseScheduler

from benchmarks.peer._measure import DUE_AT, IDLE_AT, Peer, measure


class NullExecutor(BaseExecutor):
    """Counts what it is given."""

    taken = 0

    def _do_submit_job(self, job: Any, run_times: Any) -> None:
        self.taken += len(run_times)
        self._run_job_success(job.id, [])


class HeldScheduler(BaseScheduler):
    """A scheduler whose loop is turned by hand."""

    def wakeup(self) -> None:
        """Do nothing: nobody sleeps."""

    def shutdown(self, wait: bool = True) -> None:
        super().shutdown(wait)


class Apscheduler:
    note = "executing left out"

    def __init__(self, scheduler: HeldScheduler, executor: NullExecutor, traveller: Any) -> None:
        self._scheduler = scheduler
        self._executor = executor
        self._traveller = traveller

    def idle(self) -> None:
        self._scheduler._process_jobs()

    def work(self) -> int:
        self._traveller.move_to(DUE_AT)
        before = self._executor.taken
        self._scheduler._process_jobs()
        return self._executor.taken - before


def report(shop: int) -> None:
    """Do nothing: what jobs do is left out."""


@contextmanager
def open_peer(options: argparse.Namespace) -> Iterator[Peer]:
    url = options.database.replace("postgresql://", "postgresql+psycopg://")
    executor = NullExecutor()
    with time_machine.travel(IDLE_AT, tick=False) as traveller:
        scheduler = HeldScheduler(
            timezone="UTC",
            jobstores={"default": SQLAlchemyJobStore(url=url)},
            executors={"default": executor},
        )
        scheduler.start()
        for number in range(options.jobs):
            scheduler.add_job(
                f"{__spec__.name}:report", "cron", id=f"job-{number}", minute="*", args=[7]
            )
        yield Apscheduler(scheduler, executor, traveller)


if __name__ == "__main__":
    measure(open_peer)
