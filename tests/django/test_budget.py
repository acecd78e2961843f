"""What a tick, a batch and an edit may cost, however many cron jobs there are: no clock needed."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import connection

from django_dyncron.core.scheduler import DynamicScheduler, TickResult
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock
from tests.batches import BatchEnqueuer
from tests.spending import Spending, counted

pytestmark = pytest.mark.django_db(transaction=True)

# Statements, commits and hops of one batch. SQLite has no statement that writes two tables.
BATCH_COST = {"postgresql": (4, 1, 1), "sqlite": (5, 1, 1)}


class World:
    """A scheduler that, once filled, has done its upkeep and planned all jobs, at 12:00:55."""

    def __init__(self, batch_size: int) -> None:
        self.clock = FakeClock("2030-01-01T12:00:55Z")
        self.queue = BatchEnqueuer()
        self.scheduler = DynamicScheduler(
            DjangoCronJobRepository(), self.queue, clock=self.clock, batch_size=batch_size
        )

    async def fill(self, jobs: int) -> None:
        """Have ``jobs`` minutely jobs and nothing else."""
        plan_from = datetime.fromisoformat("2030-01-01T12:00:30Z")
        await CronJob.objects.all().adelete()
        await CronRun.objects.all().adelete()
        await CronJob.objects.abulk_create(
            CronJob(
                job_id=f"job-{number}",
                task_name="shop.tasks.report",
                cron_expression="* * * * *",
                payload={"shop": number},
                plan_from=plan_from,
            )
            for number in range(jobs)
        )
        await self.scheduler.tick()

    async def date_edits(self) -> None:
        """Let edits count from the clock of the test: the database's present is not ours."""
        edited = CronJob.objects.filter(plan_from__isnull=False)
        await edited.aupdate(plan_from=self.clock.now())

    async def tick(self, seconds: float) -> tuple[TickResult, Spending]:
        """Tick ``seconds`` later; upkeep is not due before 10 have passed."""
        self.clock.advance(seconds)
        with counted() as spending:
            result = await self.scheduler.tick()
        return result, spending


async def spent_on(jobs: int, batch_size: int) -> Spending:
    """Return what a tick spends that finds ``jobs`` due and claims ``batch_size`` at once."""
    world = World(batch_size)
    await world.fill(jobs)
    result, spending = await world.tick(5)
    assert (result.claimed, result.enqueued) == (jobs, jobs)
    return spending


@pytest.mark.parametrize("jobs", [0, 1, 1_000])
async def test_an_idle_tick_is_one_statement_in_one_hop(jobs: int) -> None:
    world = World(batch_size=500)
    await world.fill(jobs)
    result, spending = await world.tick(1)
    assert result.claimed == 0
    assert spending.counts == (1, 0, 1)
    assert spending.statements[0].startswith("SELECT ")


async def test_a_batch_costs_a_few_statements_one_commit_and_one_hop() -> None:
    one = await spent_on(500, batch_size=500)
    two = await spent_on(1_000, batch_size=500)
    assert two.beyond(one) == BATCH_COST[connection.vendor]


async def test_a_batch_of_a_thousand_costs_as_much_as_one_of_five_hundred() -> None:
    small = await spent_on(500, batch_size=500)
    large = await spent_on(1_000, batch_size=1_000)
    assert large.counts == small.counts


async def test_the_queue_is_given_a_batch_at_once() -> None:
    world = World(batch_size=500)
    await world.fill(1_000)
    await world.tick(5)
    assert world.queue.batches == [500, 500]


@pytest.mark.parametrize("jobs", [1, 1_000])
async def test_an_update_is_one_statement_and_one_row_to_plan(jobs: int) -> None:
    world = World(batch_size=500)
    await world.fill(jobs)
    edited = CronJob.objects.filter(job_id="job-0")
    with counted() as spending:
        rows = await edited.aupdate(cron_expression="0 6 * * *")
    assert rows == 1
    assert [sql.partition(" SET ")[0] for sql in spending.statements] == [
        'UPDATE "django_dyncron_cronjob"'
    ]
    await world.date_edits()
    result, _ = await world.tick(1)
    assert (result.planned, result.claimed) == (1, 0)


async def test_a_save_is_one_statement_and_one_row_to_plan() -> None:
    world = World(batch_size=500)
    await world.fill(1_000)
    job = await CronJob.objects.aget(job_id="job-0")
    job.cron_expression = "0 6 * * *"
    with counted() as spending:
        await job.asave()
    assert [sql.partition(" SET ")[0] for sql in spending.statements] == [
        'UPDATE "django_dyncron_cronjob"'
    ]
    await world.date_edits()
    result, _ = await world.tick(1)
    assert (result.planned, result.claimed) == (1, 0)


async def test_noticing_an_edit_costs_the_same_among_many_jobs() -> None:
    costs = []
    for jobs in (1, 1_000):
        world = World(batch_size=500)
        await world.fill(jobs)
        await CronJob.objects.filter(job_id="job-0").aupdate(cron_expression="0 6 * * *")
        await world.date_edits()
        _, spending = await world.tick(1)
        costs.append(spending.counts)
    assert costs[0] == costs[1]
