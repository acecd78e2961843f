"""What is decided inside a claim: overlap, jitter, delivery in the same transaction, upkeep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import connection

from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from django_dyncron.models import CronJob, CronRun, Replica
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


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2030-01-01T{text}Z")


class World:
    def __init__(self, queue: Any = None, **options: Any) -> None:
        self.clock = FakeClock("2030-01-01T12:00:30Z")
        self.queue = queue or RecordingEnqueuer()
        self.repository = DjangoCronJobRepository()
        self.scheduler = DynamicScheduler(self.repository, self.queue, clock=self.clock, **options)

    async def tick_at(self, text: str) -> list[str]:
        self.clock.advance((at(text) - self.clock.now()).total_seconds())
        before = len(self.queue.slots)
        await self.scheduler.tick()
        return [slot[11:16] for _, slot in self.queue.slots[before:]]


async def add(**values: Any) -> CronJob:
    defaults = {"job_id": "report", "task_name": "shop.report", "cron_expression": "* * * * *"}
    return await CronJob.objects.acreate(**{"plan_from": at("12:00:00"), **defaults, **values})


async def statuses() -> dict[str, str]:
    runs = CronRun.objects.order_by("scheduled_for")
    return {
        f"{run.scheduled_for:%H:%M}": f"{run.status} {run.reason}".strip() async for run in runs
    }


async def test_a_run_that_would_overlap_is_recorded_as_skipped() -> None:
    world = World()
    await add(overlap_policy="skip", max_run_seconds=150)
    await world.tick_at("12:00:40")
    assert await world.tick_at("12:01:00") == ["12:01"]
    assert await world.tick_at("12:02:00") == []
    await CronRun.objects.filter(scheduled_for=at("12:01:00")).aupdate(status="succeeded")
    assert await world.tick_at("12:03:00") == ["12:03"]
    # Nobody said that this one ended, but it counts as running for 150 seconds only.
    assert await world.tick_at("12:05:00") == []
    assert await world.tick_at("12:06:00") == ["12:06"]
    assert await statuses() == {
        "12:01": "succeeded",
        "12:02": "skipped overlap",
        "12:03": "enqueued",
        "12:04": "skipped misfire",
        "12:05": "skipped overlap",
        "12:06": "enqueued",
    }


async def test_of_several_missed_slots_only_the_oldest_can_run_without_overlap() -> None:
    world = World()
    await add(overlap_policy="skip", misfire_policy="fire_all")
    await world.tick_at("12:00:40")
    assert await world.tick_at("12:03:00") == ["12:01"]
    assert await statuses() == {
        "12:01": "enqueued",
        "12:02": "skipped overlap",
        "12:03": "skipped overlap",
    }


async def test_jitter_delays_the_delivery_and_not_the_claim() -> None:
    world = World()
    await add(jitter_seconds=300)  # the next slot bounds it to 59
    await world.tick_at("12:00:40")
    assert await world.tick_at("12:01:00") == []
    run = await CronRun.objects.aget()
    assert (run.status, run.attempts) == ("claimed", 0)
    assert run.lease_until is not None
    wait = (run.lease_until - at("12:01:00")).total_seconds()
    assert 0 < wait < 60
    before = run.lease_until - timedelta(seconds=1)
    assert await world.tick_at(f"{before:%H:%M:%S}") == []
    assert await world.tick_at(f"{run.lease_until:%H:%M:%S}") == ["12:01"]
    run = await CronRun.objects.aget()
    assert (run.status, run.attempts, run.scheduled_for) == ("enqueued", 1, at("12:01:00"))


async def test_jitter_is_the_same_for_the_same_slot_and_spread_over_jobs() -> None:
    waits = []
    for _ in range(2):
        await CronJob.objects.all().adelete()
        await CronRun.objects.all().adelete()
        world = World()
        for number in range(40):
            await add(job_id=f"job-{number}", cron_expression="0 * * * *", jitter_seconds=600)
        await world.tick_at("12:00:40")
        await world.tick_at("13:00:00")
        runs = CronRun.objects.order_by("job_id").values_list("lease_until", flat=True)
        waits.append([(until - at("13:00:00")).total_seconds() async for until in runs if until])
    assert waits[0] == waits[1]
    assert len(set(waits[0])) > 30
    assert max(waits[0]) <= 600


class SameDatabaseQueue(RecordingEnqueuer):
    """A queue whose messages are rows of the same database."""

    def transaction_alias(self) -> str:
        return "default"

    def enqueue_runs_now(self, runs: Sequence[Run]) -> list[str]:
        for run in runs:
            Group.objects.create(name=str(run.run_id))
            if run.payload.get("is_poison"):
                raise EnqueueRefused("poison")
            self.runs.append(run)
        return [str(run.run_id) for run in runs]

    async def enqueue_run(self, run: Run) -> str:
        raise AssertionError("this queue is told inside the transaction")


async def test_a_queue_in_the_same_database_is_told_inside_the_claim() -> None:
    world = World(SameDatabaseQueue())
    await add()
    await add(job_id="poison", payload={"is_poison": True})
    await world.tick_at("12:00:40")
    world.queue.runs.clear()
    result_at = await world.tick_at("12:01:00")
    assert result_at.count("12:01") >= 1
    by_job = {run.job_id: run async for run in CronRun.objects.all()}
    assert (by_job["report"].status, by_job["poison"].status) == ("enqueued", "failed")
    assert by_job["report"].task_id == str(by_job["report"].pk)
    # The poisoned row left nothing behind, the other one exactly one message.
    assert [group.name async for group in Group.objects.all()] == [str(by_job["report"].pk)]
    assert (await CronJob.objects.aget(job_id="report")).last_run_at == at("12:01:00")
    assert (await CronJob.objects.aget(job_id="poison")).last_error == "poison"


async def test_a_rollback_leaves_neither_claim_nor_message(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(SameDatabaseQueue())
    await add()
    await world.tick_at("12:00:40")
    with monkeypatch.context() as patch:
        patch.setattr(
            "django_dyncron.repositories.records.write", _fail_when_there_is_something_to_write
        )
        with pytest.raises(ZeroDivisionError):
            await world.tick_at("12:01:00")
    assert await CronRun.objects.acount() == 0
    assert await Group.objects.acount() == 0
    assert (await CronJob.objects.aget()).next_run_at == at("12:01:00")
    await world.tick_at("12:01:05")
    assert await Group.objects.acount() == 1


def _fail_when_there_is_something_to_write(*arguments: Sequence[object]) -> None:
    *_, records = arguments
    if records:
        raise ZeroDivisionError


async def test_expired_leases_are_closed_or_taken_over() -> None:
    world = World()
    await add(job_id="lost")
    await add(job_id="once", delivery="at_most_once")
    await add(job_id="newer", misfire_policy="fire_once")
    await add(job_id="again")
    past = at("12:00:00")
    common = {"task_name": "shop.report", "lease_until": past, "created_at": past, "attempts": 1}
    common["replica"] = "gone"
    rows = [
        ("lost", "running", "at_least_once"),
        ("once", "claimed", "at_most_once"),
        ("newer", "claimed", "at_least_once"),
        ("gone", "claimed", "at_least_once"),
        ("again", "claimed", "at_least_once"),
    ]
    for number, (job_id, status, delivery) in enumerate(rows):
        await CronRun.objects.acreate(
            id=f"00000000-0000-0000-0000-00000000000{number}",
            job_id=job_id,
            status=status,
            delivery=delivery,
            scheduled_for=at("11:59:00"),
            **common,
        )
    await CronRun.objects.acreate(
        id="00000000-0000-0000-0000-000000000009",
        job_id="newer",
        status="enqueued",
        scheduled_for=at("12:00:00"),
        task_name="shop.report",
    )
    assert await world.tick_at("12:00:40") == ["11:59"]
    assert [run.job_id for run in world.queue.runs] == ["again"]
    runs = CronRun.objects.filter(scheduled_for=at("11:59:00"))
    assert {run.job_id: f"{run.status} {run.reason}".strip() async for run in runs} == {
        "lost": "lost",
        "once": "unknown",
        "newer": "skipped superseded",
        "gone": "skipped deleted",
        "again": "enqueued",
    }
    again = await CronRun.objects.aget(job_id="again")
    assert (again.attempts, again.lease_until) == (2, None)


async def test_a_local_run_left_by_a_dead_replica_runs_though_at_most_once(settings: Any) -> None:
    settings.DYNCRON = {"ALLOWED_TASKS": ["tests.shop.tasks.restock"]}
    world = World(LocalTaskEnqueuer())
    await add(delivery="at_most_once", cron_expression="0 0 1 1 *")
    await CronRun.objects.acreate(
        id="00000000-0000-0000-0000-000000000001",
        job_id="report",
        status="claimed",
        delivery="at_most_once",
        scheduled_for=at("11:59:00"),
        created_at=at("11:59:00"),
        lease_until=at("12:00:00"),
        attempts=1,
        replica="dead",
        task_name="tests.shop.tasks.restock",
    )
    await world.scheduler.start(max_ticks=1)
    await world.scheduler.aclose()
    run = await CronRun.objects.aget()
    assert (run.status, run.attempts) == ("succeeded", 2)


async def test_old_runs_are_pruned_but_not_the_unfinished() -> None:
    world = World(run_retention_days=30)
    old, young = at("12:00:00") - timedelta(days=31), at("12:00:00") - timedelta(days=29)
    for number, (status, created_at) in enumerate(
        [("enqueued", old), ("skipped", old), ("claimed", old), ("running", old), ("failed", young)]
    ):
        await CronRun.objects.acreate(
            id=f"00000000-0000-0000-0000-00000000000{number}",
            job_id="report",
            status=status,
            created_at=created_at,
            task_name="shop.report",
        )
    await world.tick_at("12:00:40")
    left = CronRun.objects.order_by("id").values_list("status", flat=True)
    assert [status async for status in left] == ["claimed", "running", "failed"]


async def test_a_clock_that_steps_back_plans_the_future_anew() -> None:
    world = World()
    await add(cron_expression="0 0 * * *")
    await world.tick_at("12:00:40")
    assert (await CronJob.objects.aget()).next_run_at == datetime.fromisoformat("2030-01-02T00:00Z")
    world.clock.step(-86_400)
    await world.scheduler.tick()
    assert (await CronJob.objects.aget()).next_run_at == datetime.fromisoformat("2030-01-01T00:00Z")


async def test_a_clock_that_leaps_ahead_is_believed_only_when_read_twice() -> None:
    world = World()
    await add(cron_expression="0 * * * *")
    await world.tick_at("12:00:40")
    world.clock.step(400 * 86_400)
    result = await world.scheduler.tick()
    assert (world.queue.slots, result.claimed) == ([], 0)
    world.clock.step(-400 * 86_400)
    await world.scheduler.tick()
    assert (await CronJob.objects.aget()).next_run_at == at("13:00:00")
    assert await CronRun.objects.acount() == 0
    world.clock.step(400 * 86_400)
    await world.scheduler.tick()
    world.clock.advance(5)
    assert (await world.scheduler.tick()).claimed == 1


@pytest.mark.parametrize(
    "planned, expected",
    [
        ({"planned_in_zone": "Europe/Paris"}, True),
        ({"planned_in_zone": "UTC"}, False),
        ({"planned_in_zone": "Europe/Paris", "time_zone": "Europe/Paris"}, False),
        ({"planned_in_zone": "", "is_settled": True, "next_run_at": None}, True),
        ({"planned_in_zone": "UTC", "is_settled": True, "next_run_at": None}, False),
        (
            {
                "planned_in_zone": "Asia/Tokyo",
                "time_zone": "Asia/Tokyo",
                "planned_with_tzdata": "2001a",
            },
            True,
        ),
        (
            {
                "planned_in_zone": "Asia/Tokyo",
                "time_zone": "Asia/Tokyo",
                "planned_with_tzdata": "2999a",
            },
            False,
        ),
        ({"planned_in_zone": "Europe/Paris", "planned_with_tzdata": "2999a"}, False),
        (
            {"planned_in_zone": "UTC", "next_run_at": datetime.fromisoformat("2099-01-01T00:00Z")},
            True,
        ),
    ],
)
async def test_what_a_starting_scheduler_plans_anew(
    planned: dict[str, Any], expected: bool
) -> None:
    from django_dyncron.core.tzdata import tzdata_version

    job = await add()
    values = {
        "plan_from": None,
        "planned_cron_expression": "* * * * *",
        "next_run_at": datetime.now(at("12:00:00").tzinfo) + timedelta(minutes=5),
        "planned_with_tzdata": tzdata_version(),
        **planned,
    }
    zone = values.pop("time_zone", "")
    await CronJob.objects.filter(pk=job.pk).aupdate(planned_time_zone=zone, **values)
    await sync_to_async(_set_zone)(zone)
    await DjangoCronJobRepository().review("UTC", datetime.now(UTC))
    await job.arefresh_from_db()
    assert (job.planned_cron_expression is None) is expected


def _set_zone(zone: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_dyncron_cronjob SET time_zone = %s", [zone])


async def test_signs_of_life_extend_leases_and_end_with_the_scheduler() -> None:
    world = World(replica_id="web-1")
    await world.tick_at("12:00:40")
    replica = await Replica.objects.aget()
    assert (replica.replica_id, replica.started_at, replica.stopped_at) == (
        "web-1",
        at("12:00:40"),
        None,
    )
    await world.tick_at("12:01:10")
    await replica.arefresh_from_db()
    assert (replica.started_at, replica.seen_at) == (at("12:00:40"), at("12:01:10"))
    world.scheduler.stop()
    await world.scheduler.start()
    await replica.arefresh_from_db()
    assert replica.stopped_at == at("12:01:10")


async def test_a_replica_that_comes_back_under_its_name_began_anew() -> None:
    """As under systemd, where the unit names it."""
    before = World(replica_id="web-1")
    await before.tick_at("12:00:40")
    before.scheduler.stop()
    await before.scheduler.start()

    after = World(replica_id="web-1")
    await after.tick_at("12:07:00")
    await after.tick_at("12:07:30")
    replica = await Replica.objects.aget()
    assert replica.stopped_at is None
    assert (replica.started_at, replica.seen_at) == (at("12:07:00"), at("12:07:30"))
