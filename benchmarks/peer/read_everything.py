"""The plain design: each tick reads every job, matches it against the minute, and locks it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from croniter import croniter

from benchmarks._jobs import add_minutely
from benchmarks._stage import migrate, set_django_up
from benchmarks.peer._measure import DUE_AT, IDLE_AT, Peer, measure


class ReadEverything:
    note = "Redis lock a job"

    def __init__(self, redis_url: str) -> None:
        from django_dyncron.locks.redis import RedisLockProvider
        from django_dyncron.repositories.orm import DjangoCronJobRepository

        self._repository = DjangoCronJobRepository()
        self._locks = RedisLockProvider(url=redis_url)
        self._loop = asyncio.new_event_loop()

    def idle(self) -> None:
        # A minute that was done already: read and matched, and every lock is taken.
        self._loop.run_until_complete(self._pass(IDLE_AT, is_done=True))

    def work(self) -> int:
        return self._loop.run_until_complete(self._pass(DUE_AT, is_done=False))

    async def _pass(self, at: datetime, *, is_done: bool) -> int:
        handed_over = 0
        for job in await self._repository.get_active_jobs():
            if not croniter.match(job.cron_expression, at) or is_done:
                continue
            key = f"{job.job_id}:{at:%Y-%m-%dT%H:%M}"
            if await self._locks.acquire_lock(key, 3600):
                await self._repository.update_last_run(job.job_id, at)
                handed_over += 1
        return handed_over


@contextmanager
def open_peer(options: argparse.Namespace) -> Iterator[Peer]:
    set_django_up(options.database)
    migrate("default")
    add_minutely("default", options.jobs, DUE_AT + timedelta(days=1))
    yield ReadEverything(options.redis)


if __name__ == "__main__":
    measure(open_peer)
