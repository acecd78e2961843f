"""What locks add to the cost of a batch, on real servers: no clock needed."""

from __future__ import annotations

from datetime import datetime

import pytest
import redis

from django_dyncron.core.ports import ILockProvider
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.locks.postgres import PostgresLockProvider
from django_dyncron.locks.redis import RedisLockProvider
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock
from tests.batches import BatchEnqueuer
from tests.spending import Spending, counted

SIZES = [500, 1_000]


async def spent_on_a_batch(alias: str, jobs: int, provider: ILockProvider | None) -> Spending:
    """Return what a tick spends that finds ``jobs`` due and claims them in one batch."""
    clock = FakeClock("2030-01-01T12:00:55Z")
    scheduler = DynamicScheduler(
        DjangoCronJobRepository(alias), BatchEnqueuer(), provider, clock=clock, batch_size=jobs
    )
    plan_from = datetime.fromisoformat("2030-01-01T12:00:30Z")
    await CronJob.objects.using(alias).abulk_create(
        CronJob(
            job_id=f"{jobs}-{number}",
            task_name="shop.tasks.report",
            cron_expression="* * * * *",
            plan_from=plan_from,
        )
        for number in range(jobs)
    )
    await scheduler.tick()
    clock.advance(5)
    with counted() as spending:
        result = await scheduler.tick()
    assert (result.claimed, result.enqueued) == (jobs, jobs)
    await CronJob.objects.using(alias).all().adelete()
    await CronRun.objects.using(alias).all().adelete()
    await scheduler.aclose()
    return spending


@pytest.mark.parametrize("jobs", SIZES)
async def test_postgres_locks_are_two_statements_a_batch_on_a_connection_of_their_own(
    postgres_alias: str, jobs: int
) -> None:
    without = await spent_on_a_batch(postgres_alias, jobs, None)
    spending = await spent_on_a_batch(postgres_alias, jobs, PostgresLockProvider(postgres_alias))
    assert len(spending.statements_elsewhere) == 2
    assert all("django_dyncron_cronlock" in sql for sql in spending.statements_elsewhere)
    # Taking the locks and giving them back are functions of the database thread, too.
    assert spending.beyond(without) == (0, 0, 2)


@pytest.mark.parametrize("jobs", SIZES)
async def test_redis_locks_are_one_trip_to_take_and_one_to_give_back(
    postgres_alias: str, redis_url: str, jobs: int
) -> None:
    without = await spent_on_a_batch(postgres_alias, jobs, None)
    with redis.Redis.from_url(redis_url) as client:
        client.config_resetstat()
        spending = await spent_on_a_batch(postgres_alias, jobs, RedisLockProvider(url=redis_url))
        asked = {name: of["calls"] for name, of in client.info("commandstats").items()}
    assert asked["cmdstat_eval"] == 2
    assert asked["cmdstat_set"] == jobs  # inside the scripts
    assert spending.beyond(without) == (0, 0, 0)
    assert spending.statements_elsewhere == []
