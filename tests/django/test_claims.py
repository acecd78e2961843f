"""Claims against a real database, on a clock that is moved by hand."""

from __future__ import annotations

from datetime import datetime

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories import dialects
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock, RecordingEnqueuer

pytestmark = pytest.mark.django_db(transaction=True)


# SQLite compares moments as text, so it cannot do without its own.
_DIALECTS = ["own dialect"] + ["portable dialect"] * (connection.vendor != "sqlite")


@pytest.fixture(autouse=True, params=_DIALECTS)
def _dialect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run everything in the database's own dialect, and in the one for any database."""
    if request.param == "portable dialect":
        monkeypatch.setattr(dialects, "_DIALECTS", {})


START = "2030-01-01T12:00:30Z"


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2030-01-01T{text}Z")


class World:
    def __init__(self) -> None:
        self.clock = FakeClock(START)
        self.queue = RecordingEnqueuer()
        self.repository = DjangoCronJobRepository()
        self.scheduler = self.replica()

    def replica(self, **options: object) -> DynamicScheduler:
        return DynamicScheduler(
            self.repository,
            self.queue,
            clock=self.clock,
            **options,  # type: ignore[arg-type]
        )

    async def tick_at(self, text: str) -> list[tuple[str, str]]:
        self.clock.advance((at(text) - self.clock.now()).total_seconds())
        before = len(self.queue.slots)
        await self.scheduler.tick()
        return self.queue.slots[before:]


@pytest.fixture
def world() -> World:
    return World()


async def add(
    job_id: str = "report", cron_expression: str = "* * * * *", **more: object
) -> CronJob:
    more.setdefault("plan_from", at("12:00:00"))
    return await CronJob.objects.acreate(
        job_id=job_id,
        task_name="shop.tasks.report",
        cron_expression=cron_expression,
        **more,
    )


async def sql(statement: str, *parameters: object) -> None:
    def execute() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)

    await sync_to_async(execute)()


async def test_a_slot_is_claimed_enqueued_and_recorded(world: World) -> None:
    await add(payload={"user_id": 7}, queue="mail")
    assert await world.tick_at("12:00:40") == []
    assert await world.tick_at("12:01:00") == [("report", "2030-01-01T12:01Z")]
    run = await CronRun.objects.aget()
    assert (run.status, run.task_name, run.payload, run.queue) == (
        "enqueued",
        "shop.tasks.report",
        {"user_id": 7},
        "mail",
    )
    assert run.scheduled_for == run.enqueued_at == at("12:01:00")
    assert (run.attempts, run.lease_until, run.task_id) == (1, None, str(run.pk))
    job = await CronJob.objects.aget()
    assert (job.last_run_at, job.next_run_at, job.last_error) == (
        at("12:01:00"),
        at("12:02:00"),
        "",
    )
    assert world.queue.runs[0].payload == {"user_id": 7}


async def test_a_row_inserted_by_sql_runs(world: World) -> None:
    await sql(
        "INSERT INTO django_dyncron_cronjob"
        " (job_id, task_name, cron_expression, payload, queue, is_active)"
        " VALUES ('raw', 'shop.tasks.report', '*/5 * * * *', '{\"a\": 1}', 'default', true)"
    )
    await world.tick_at("12:04:00")
    assert await world.tick_at("12:05:00") == [("raw", "2030-01-01T12:05Z")]
    assert world.queue.runs[-1].payload == {"a": 1}


async def test_an_update_by_sql_counts_from_the_tick_that_notices(world: World) -> None:
    await add(cron_expression="0 0 1 1 *")
    await world.tick_at("12:01:00")
    await sql("UPDATE django_dyncron_cronjob SET cron_expression = '*/2 * * * *'")
    assert await world.tick_at("12:09:30") == []
    assert await world.tick_at("12:10:00") == [("report", "2030-01-01T12:10Z")]


async def test_pausing_and_resuming_by_update_never_fires_the_past(world: World) -> None:
    await add()
    await world.tick_at("12:00:40")
    await CronJob.objects.aupdate(is_active=False)
    assert await world.tick_at("12:05:00") == []
    assert (await CronJob.objects.aget()).next_run_at is None
    await CronJob.objects.aupdate(is_active=True)
    await CronJob.objects.aupdate(plan_from=at("12:07:10"))  # the database's present is not ours
    assert await world.tick_at("12:07:20") == []
    assert await world.tick_at("12:08:00") == [("report", "2030-01-01T12:08Z")]


async def test_saving_an_unchanged_form_keeps_a_due_slot(world: World) -> None:
    await add()
    await world.tick_at("12:00:40")
    stale = await CronJob.objects.aget()
    assert await world.tick_at("12:01:00") == [("report", "2030-01-01T12:01Z")]
    stale.description = "edited in a form that was open all the while"
    await stale.asave()
    job = await CronJob.objects.aget()
    assert (job.next_run_at, job.last_run_at) == (at("12:02:00"), at("12:01:00"))
    assert job.plan_from is None
    assert await world.tick_at("12:02:00") == [("report", "2030-01-01T12:02Z")]


async def test_broken_rows_do_not_hold_up_the_others(world: World) -> None:
    await add("good")
    await add("broken", "61 * * * *")
    await add("nowhere", time_zone="Mars/Olympus")
    await add("odd", misfire_policy="sometimes")
    assert await world.tick_at("12:00:40") == []
    assert await world.tick_at("12:01:00") == [("good", "2030-01-01T12:01Z")]
    errors = {job.job_id: job.last_error async for job in CronJob.objects.all()}
    assert errors["good"] == ""
    assert "61" in errors["broken"]
    assert "Mars/Olympus" in errors["nowhere"]
    assert "misfire_policy 'sometimes'" in errors["odd"]
    horizon = await world.repository.look_ahead(world.clock.now())
    assert (horizon.has_work, horizon.next_due_at) == (False, at("12:02:00"))
    await CronJob.objects.filter(job_id="broken").aupdate(cron_expression="* * * * *")
    await world.tick_at("12:01:10")
    assert (await CronJob.objects.aget(job_id="broken")).last_error == ""


async def test_records_of_the_batch_before_are_written(world: World) -> None:
    for number in range(7):
        await add(f"job-{number}")
    scheduler = world.replica(batch_size=3)
    await scheduler.tick()
    world.clock.advance(30)
    result = await scheduler.tick()
    assert (result.claimed, result.enqueued) == (7, 7)
    assert await CronRun.objects.filter(status="enqueued").acount() == 7
    assert len(set(world.queue.slots)) == 7


async def test_a_lost_record_is_written_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add()
    await world.tick_at("12:00:40")

    async def fail(*_: object) -> None:
        raise StoreUnavailable("database away")

    with monkeypatch.context() as patch:
        patch.setattr(DjangoCronJobRepository, "record", fail)
        with pytest.raises(StoreUnavailable):
            await world.tick_at("12:01:00")
    assert (await CronRun.objects.aget()).status == "claimed"
    await world.tick_at("12:01:10")
    assert (await CronRun.objects.aget()).status == "enqueued"
    assert world.queue.slots == [("report", "2030-01-01T12:01Z")]


async def test_a_long_outage_is_one_row_with_a_count(world: World) -> None:
    await add()
    await world.tick_at("12:00:40")
    assert await world.tick_at("15:00:00") == [("report", "2030-01-01T15:00Z")]
    skipped = await CronRun.objects.aget(status="skipped")
    assert (skipped.scheduled_for, skipped.skipped_until) == (at("12:01:00"), at("14:59:00"))
    assert (skipped.slot_count, skipped.reason) == (179, "misfire")
