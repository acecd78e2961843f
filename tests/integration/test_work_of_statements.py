"""How many rows the statements of a tick go through on PostgreSQL, whatever the statistics say.

A plan is chosen by what the table was like when it was last analyzed. Where that is far from what
it is like now, a plan that looks cheap may compare every row with every other. Rows are counted,
so no clock is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock
from tests.batches import BatchEnqueuer

JOBS = 400
OLD_RUNS = 2_000
LARGEST = 6 * (JOBS + OLD_RUNS)
"""A pass over both tables for each part of a statement; comparing all pairs takes 160,000."""

ANALYZE = "ANALYZE django_dyncron_cronjob, django_dyncron_cronrun"
_EXPLAINED = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
_OLD_RUN = """
    INSERT INTO django_dyncron_cronrun (
        id, job_id, scheduled_for, status, reason, created_at, replica, attempts, slot_count,
        task_name, payload, queue, enqueuer, options, delivery, task_id, error)
    SELECT gen_random_uuid(), 'job-' || i %% 400,
        '2029-12-01'::timestamptz + make_interval(mins => i), 'succeeded', '', '2029-12-01',
        'web-1', 1, 1, 'shop.tasks.report', '{}', 'default', '', '{}', 'at_least_once', '', ''
    FROM generate_series(1, %s) AS i
"""


class World:
    """Jobs that are due each minute, a long history, and an ear for what each statement did."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.clock = FakeClock("2030-01-01T12:00:55Z")
        self.queue = BatchEnqueuer()
        self.work: dict[str, int] = {}
        self.scheduler = DynamicScheduler(
            DjangoCronJobRepository(alias),
            self.queue,
            clock=self.clock,
            batch_size=JOBS,
            run_retention_days=1,
        )

    async def fill(self) -> None:
        await CronJob.objects.using(self.alias).abulk_create(
            CronJob(
                job_id=f"job-{number}",
                task_name="shop.tasks.report",
                cron_expression="* * * * *",
                overlap_policy="skip",
                plan_from=datetime.fromisoformat("2030-01-01T12:00:30Z"),
            )
            for number in range(JOBS)
        )
        await self.execute(_OLD_RUN, [OLD_RUNS])

    async def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        def run() -> None:
            with connections[self.alias].cursor() as cursor:
                cursor.execute(statement, parameters)

        await sync_to_async(run)()

    async def tick(self, seconds: float) -> tuple[int, int]:
        """Tick ``seconds`` later; return how many runs were enqueued, and how many failed."""
        self.clock.advance(seconds)
        result = await self.scheduler.tick()
        return result.enqueued, result.failed

    async def listen(self) -> None:
        def install() -> None:
            connections[self.alias].execute_wrappers.append(self._explain)

        await sync_to_async(install)()

    def _explain(self, execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        connection = connections[self.alias]
        if connection.in_atomic_block and sql.lstrip().startswith(_EXPLAINED):
            # Beside Django, which would explain the explanation; and undone, since it executes.
            with connection.connection.cursor() as cursor:
                cursor.execute("SAVEPOINT explained")
                cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", parameters)
                ((plan,),) = cursor.fetchall()
                cursor.execute("ROLLBACK TO SAVEPOINT explained")
            (whole,) = json.loads(plan) if isinstance(plan, str) else plan
            self.work[sql] = max(self.work.get(sql, 0), sum(_rows(whole["Plan"])))
        return execute(sql, parameters, many, context)


def _rows(node: dict[str, Any]) -> Iterator[float]:
    """Yield how many rows each node of a plan went through."""
    names = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter")
    yield sum(node.get(name, 0) for name in names) * node["Actual Loops"]
    for child in node.get("Plans", ()):
        yield from _rows(child)


@pytest.mark.parametrize("analyzed", ["never", "empty", "idle", "in hand"])
async def test_no_statement_of_a_tick_compares_every_row_with_every_other(
    postgres_alias: str, analyzed: str
) -> None:
    world = World(postgres_alias)
    for table in ("cronjob", "cronrun"):
        await world.execute(f"ALTER TABLE django_dyncron_{table} SET (autovacuum_enabled = false)")
    if analyzed == "empty":
        await world.execute(ANALYZE)
    await world.fill()
    assert await world.tick(0) == (0, 0)
    if analyzed == "idle":
        await world.execute(ANALYZE)

    await world.listen()
    world.queue.is_away = True
    assert await world.tick(5) == (0, JOBS)
    if analyzed == "in hand":
        await world.execute(ANALYZE)
    world.queue.is_away = False
    assert await world.tick(11) == (JOBS, 0)
    await CronRun.objects.using(postgres_alias).aupdate(
        status="succeeded", finished_at=world.clock.now()
    )
    assert await world.tick(60) == (JOBS, 0)

    assert len(world.work) >= 6
    assert {sql: rows for sql, rows in world.work.items() if rows > LARGEST} == {}
