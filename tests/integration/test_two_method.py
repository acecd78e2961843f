"""Schedulers put together by hand: a store and a lock of two methods, a queue of one.

Two of them, each in a thread and an event loop of its own, race on one Redis. Their clocks are
moved by hand, in step, so that both are after every slot at the same moment.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
import redis.asyncio

from django_dyncron import (
    CronJobDefinition,
    DynamicScheduler,
    ICronJobRepository,
    ILockProvider,
    ITaskEnqueuer,
)
from django_dyncron.locks.redis import RedisLockProvider
from django_dyncron.testing import FakeClock

START = "2026-11-01T05:29:50Z"
MINUTES = 15
JOBS = [f"job-{number}" for number in range(20)]

_DELETE_IF_EQUAL = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class SharedRepository(ICronJobRepository):
    """Stands for a table that both read; a dictionary, so that there is nothing else to race on."""

    def __init__(self) -> None:
        self.jobs = {
            job_id: CronJobDefinition(job_id, "report", "* * * * *", {"job_id": job_id})
            for job_id in JOBS
        }

    async def get_active_jobs(self) -> list[CronJobDefinition]:
        return list(self.jobs.values())

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        job = self.jobs[job_id]
        if job.last_run_at is None or job.last_run_at < run_time:
            self.jobs[job_id] = replace(job, last_run_at=run_time)


class ForgetfulRepository(SharedRepository):
    """A store so slow to be read back that only the lock is left to tell a slot was taken."""

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        return None


class TwoMethodLock(ILockProvider):
    def __init__(self, url: str) -> None:
        self.client = redis.asyncio.Redis.from_url(url)
        self.token = uuid4().hex

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        return bool(await self.client.set(lock_key, self.token, nx=True, ex=ttl_seconds))

    async def release_lock(self, lock_key: str) -> None:
        await self.client.eval(_DELETE_IF_EQUAL, 1, lock_key, self.token)

    async def aclose(self) -> None:
        await self.client.aclose()


class OneMethodEnqueuer(ITaskEnqueuer):
    """Notes the job, from the payload, and the minute, from the clock."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.slots: list[tuple[str, str]] = []

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        self.slots.append((payload["job_id"], f"{self.clock.now():%Y-%m-%dT%H:%MZ}"))


def race(
    repository: ICronJobRepository, make_lock: Callable[[], ILockProvider]
) -> list[tuple[str, str]]:
    """Run two schedulers for ``MINUTES``; return everything that they enqueued."""
    barrier = threading.Barrier(2, timeout=20)
    clocks = [FakeClock(START), FakeClock(START)]
    queues = [OneMethodEnqueuer(clock) for clock in clocks]

    async def live(clock: FakeClock, queue: OneMethodEnqueuer) -> None:
        scheduler = DynamicScheduler(repository, queue, make_lock(), clock=clock)
        clock.advance(10)
        for _ in range(MINUTES):
            barrier.wait()
            await scheduler.tick()
            clock.advance(20)
            barrier.wait()
            await scheduler.tick()
            clock.advance(40)
        await scheduler.aclose()

    pairs = zip(clocks, queues, strict=True)
    threads = [threading.Thread(target=asyncio.run, args=[live(*pair)]) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [slot for queue in queues for slot in queue.slots]


@pytest.mark.parametrize("repository_class", [SharedRepository, ForgetfulRepository])
@pytest.mark.parametrize("lock_class", [TwoMethodLock, RedisLockProvider])
def test_two_race_on_one_redis(
    redis_url: str,
    repository_class: type[SharedRepository],
    lock_class: Callable[..., ILockProvider],
) -> None:
    tally = Counter(race(repository_class(), lambda: lock_class(url=redis_url)))
    assert [slot for slot, times in tally.items() if times > 1] == []
    minutes = {minute for _, minute in tally}
    assert (min(minutes), max(minutes)) == ("2026-11-01T05:30Z", "2026-11-01T05:44Z")
    assert len(tally) == len(JOBS) * MINUTES == 300
