"""Runs that somebody asks for: recorded by any process, delivered by a scheduler."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils import timezone

from django_dyncron.core.exceptions import EnqueueNotSent
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from django_dyncron.manual import request_run
from django_dyncron.models import CronJob, CronRun, Pause
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock, RecordingEnqueuer
from tests.django.admin_pages import TASK, a_job
from tests.django.local.pool import idle

pytestmark = pytest.mark.django_db

ask = sync_to_async(request_run)


def test_a_run_is_recorded_as_the_row_stands() -> None:
    job = a_job("report", payload={"user_id": 7}, queue="slow", delivery="at_most_once")
    CronJob.objects.update(payload={"user_id": 8})
    run = request_run(job, by="ann")
    assert CronRun.objects.get() == run
    assert (run.job_id, run.task_name, run.payload) == ("report", TASK, {"user_id": 8})
    assert (run.queue, run.enqueuer, run.options) == ("slow", "", {})
    assert (run.kind, run.status, run.scheduled_for) == ("manual", "claimed", None)
    assert (run.delivery, run.replica, run.attempts) == ("at_most_once", "", 0)
    assert (run.asked_by, run.pk.version) == ("ann", 4)
    assert run.lease_until is not None
    for moment in (run.lease_until, run.created_at):
        assert abs(moment - timezone.now()) < timedelta(seconds=30)


def test_asking_twice_makes_two_runs_and_leaves_the_job_alone() -> None:
    job = a_job("report")
    before = CronJob.objects.values().get()
    assert request_run(job).pk != request_run(job).pk
    assert CronJob.objects.values().get() == before


@pytest.mark.parametrize(
    "values, field, words",
    [
        ({"task_name": "nowhere.at_all"}, "task_name", "nowhere"),
        ({"payload": {"wrong": 1}}, "payload", "user_id"),
        ({"payload": [1]}, "payload", "object"),
        ({"enqueuer": "rabbit"}, "enqueuer", "ENQUEUERS"),
        ({"options": 5}, "options", "object"),
    ],
)
def test_a_run_that_could_never_be_delivered_is_refused(
    values: dict[str, Any], field: str, words: str
) -> None:
    job = a_job("report", **values)
    with pytest.raises(ValidationError) as caught:
        request_run(job)
    assert words in str(caught.value.message_dict[field])
    assert not CronRun.objects.exists()


def test_a_fault_of_the_settings_is_told(settings: Any) -> None:
    settings.DYNCRON = {"ENQUEUER": "no.such.Enqueuer"}
    with pytest.raises(ValidationError) as caught:
        request_run(a_job("report"))
    assert "cannot be imported" in str(caught.value.message_dict[NON_FIELD_ERRORS])


@pytest.mark.parametrize(
    "values",
    [
        {"is_active": False},
        {"cron_expression": "61 * * * *", "is_settled": True, "last_error": "Minute '61'"},
        {"ends_at": timezone.now() - timedelta(days=1)},
    ],
)
def test_a_job_that_is_not_scheduled_can_be_run(values: dict[str, Any]) -> None:
    assert request_run(a_job("report", **values)).status == "claimed"


def test_a_job_that_was_deleted_meanwhile_is_not_run() -> None:
    job = a_job("report")
    CronJob.objects.all().delete()
    with pytest.raises(CronJob.DoesNotExist):
        request_run(job)


# --- with a scheduler -----------------------------------------------------------------------------


class World:
    """A scheduler by the database's own clock, which is what asks for a run go by."""

    def __init__(self, queue: Any) -> None:
        self.clock = FakeClock(timezone.now() + timedelta(seconds=5))
        self.queue = queue
        self.scheduler = DynamicScheduler(DjangoCronJobRepository(), queue, clock=self.clock)


async def stored(pk: UUID) -> CronRun:
    return await CronRun.objects.aget(pk=pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "values", [{}, {"is_active": False}, {"delivery": "at_most_once"}, {"overlap_policy": "skip"}]
)
async def test_the_next_tick_delivers_it_while_everything_is_paused(
    values: dict[str, Any],
) -> None:
    job = await sync_to_async(a_job)("report", **values)
    await Pause.objects.acreate()
    run = await ask(job)
    world = World(RecordingEnqueuer())
    result = await world.scheduler.tick()
    assert (result.enqueued, result.claimed) == (1, 0)
    (sent,) = world.queue.runs
    assert (sent.run_id, sent.kind, sent.scheduled_for) == (run.pk, "manual", None)
    delivered = await stored(run.pk)
    assert (delivered.status, delivered.attempts) == ("enqueued", 1)
    assert (await CronJob.objects.aget()).last_run_at is None
    world.clock.advance(60)
    await world.scheduler.tick()
    assert len(world.queue.runs) == 1


@pytest.mark.django_db(transaction=True)
async def test_a_run_that_was_not_sent_is_tried_again() -> None:
    job = await sync_to_async(a_job)("report", delivery="at_most_once")
    run = await ask(job)
    world = World(RecordingEnqueuer({TASK: [EnqueueNotSent("away"), EnqueueNotSent("away")]}))
    await world.scheduler.tick()
    waiting = await stored(run.pk)
    assert (waiting.status, waiting.error, waiting.attempts) == ("claimed", "away", 1)
    for _ in range(3):
        world.clock.advance(31)
        await world.scheduler.tick()
    delivered = await stored(run.pk)
    assert (delivered.status, delivered.attempts, delivered.error) == ("enqueued", 3, "")


@pytest.mark.django_db(transaction=True)
async def test_a_run_in_the_schedulers_own_process_starts_once() -> None:
    job = await sync_to_async(a_job)("report", delivery="at_most_once")
    run = await ask(job)
    world = World(LocalTaskEnqueuer())
    await world.scheduler.tick()
    await idle(world.queue)
    assert await world.queue.drain(timedelta(seconds=10)) == []
    await world.scheduler.aclose()
    done = await stored(run.pk)
    assert (done.status, done.attempts, done.error) == ("succeeded", 1, "")
    assert (await CronJob.objects.aget()).last_run_at is None


@pytest.mark.django_db(transaction=True)
async def test_a_run_of_a_job_deleted_before_its_delivery_is_closed() -> None:
    run = await ask(await sync_to_async(a_job)("report"))
    await CronJob.objects.all().adelete()
    world = World(RecordingEnqueuer())
    await world.scheduler.tick()
    closed = await stored(run.pk)
    assert (closed.status, closed.reason, world.queue.runs) == ("skipped", "deleted", [])
