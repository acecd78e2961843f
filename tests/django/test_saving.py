"""What an edit may touch, by whatever way it is written, and from when it counts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command
from django.db import DatabaseError
from django.db.models import F

from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.models import NEEDS_PLANNING, CronJob
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock, RecordingEnqueuer

pytestmark = pytest.mark.django_db(transaction=True)

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
PLANNED: dict[str, Any] = {
    "next_run_at": datetime(2026, 11, 1, 5, 30, tzinfo=UTC),
    "last_run_at": datetime(2026, 10, 31, 5, 30, tzinfo=UTC),
    "last_error": "out of paper",
    "plan_from": None,
    "created_at": LONG_AGO,
    "planned_cron_expression": "30 5 * * *",
    "planned_time_zone": "",
    "planned_dst_gap": "run_after",
    "planned_dst_fold": "first",
    "planned_in_zone": "UTC",
    "planned_with_tzdata": "2026.1",
}
"""What the scheduler has written about the job, and the instant of its creation."""


@pytest.fixture
def job() -> CronJob:
    """A job that was planned and has run: its next slot is at 05:30."""
    CronJob.objects.create(job_id="report", task_name="shop.report", cron_expression="30 5 * * *")
    CronJob.objects.update(**PLANNED)
    return CronJob.objects.get()


def by_hand(job: CronJob, **values: Any) -> CronJob:
    """Build the row anew, as code does that knows nothing but its key."""
    fine = {"job_id": "report", "task_name": "shop.report", "cron_expression": "30 5 * * *"}
    return CronJob(**({"pk": job.pk} | fine | values))


def owned() -> dict[str, Any]:
    return CronJob.objects.values(*PLANNED).get()


def assert_counts_from_now() -> None:
    job = CronJob.objects.get()
    assert job.plan_from is not None
    assert datetime.now(UTC) - job.plan_from < timedelta(seconds=30)
    assert job.due_at == NEEDS_PLANNING


def dumped(path: Path, **options: Any) -> Path:
    call_command("dumpdata", "django_dyncron.cronjob", output=str(path), **options)
    return path


def load(path: Path) -> None:
    call_command("loaddata", str(path), verbosity=0)


# --- instances built by hand ------------------------------------------------------------------


def test_an_instance_built_by_hand_over_a_row_keeps_the_scheduler_s_columns(job: CronJob) -> None:
    by_hand(job, queue="mail").save()

    assert owned() == PLANNED
    assert CronJob.objects.get().queue == "mail"
    assert CronJob.objects.get().due_at == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)


def test_its_new_schedule_counts_from_the_save(job: CronJob) -> None:
    by_hand(job, cron_expression="45 5 * * *").save()

    assert owned() | {"plan_from": None} == PLANNED
    assert_counts_from_now()


def test_it_reads_what_it_did_not_write(job: CronJob) -> None:
    built = by_hand(job)
    built.save()

    assert {name: getattr(built, name) for name in PLANNED} == PLANNED


async def test_saving_it_asynchronously_is_the_same(job: CronJob) -> None:
    await by_hand(job, queue="mail").asave()

    assert await CronJob.objects.values(*PLANNED).aget() == PLANNED


def test_an_instance_with_a_key_of_its_own_is_inserted() -> None:
    job = CronJob(pk=7000, job_id="report", task_name="shop.report", cron_expression="@daily")
    job.save()

    assert CronJob.objects.get().pk == 7000
    assert_counts_from_now()


def test_a_row_that_went_away_is_not_brought_back(job: CronJob) -> None:
    CronJob.objects.all().delete()

    with pytest.raises(DatabaseError):
        job.save()
    assert not CronJob.objects.exists()


@pytest.mark.parametrize("was_saved", [True, False])
def test_a_copy_of_a_job_is_a_new_one(job: CronJob, was_saved: bool) -> None:
    if was_saved:
        job.save()
    job.pk, job.job_id, job._state.adding = None, "copy", True
    job.save()

    copy = CronJob.objects.get(job_id="copy")
    assert (copy.next_run_at, copy.last_run_at, copy.last_error) == (None, None, "")
    assert copy.created_at > LONG_AGO
    assert copy.due_at == NEEDS_PLANNING
    assert copy.plan_from == copy.created_at


def test_a_job_brought_back_fires_nothing_of_the_past(job: CronJob) -> None:
    CronJob.objects.all().delete()
    job.save(force_insert=True)

    assert CronJob.objects.get().next_run_at is None
    assert_counts_from_now()


# --- instances that were read -----------------------------------------------------------------


def test_a_stale_instance_takes_nothing_back(job: CronJob) -> None:
    ran = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    CronJob.objects.update(last_run_at=ran, next_run_at=ran + timedelta(days=1))
    job.queue = "mail"
    job.save()

    assert owned() == PLANNED | {"last_run_at": ran, "next_run_at": ran + timedelta(days=1)}


def test_a_deferred_instance_writes_only_what_it_has(job: CronJob) -> None:
    deferred = CronJob.objects.only("queue").get()
    CronJob.objects.update(description="written meanwhile", **PLANNED)
    deferred.queue = "mail"
    deferred.save()

    assert owned() == PLANNED
    assert CronJob.objects.values_list("queue", "description").get() == (
        "mail",
        "written meanwhile",
    )


def test_an_expression_as_value_is_compared_in_the_database(job: CronJob) -> None:
    job.cron_expression = F("cron_expression")
    job.save(update_fields=["cron_expression"])

    assert owned() == PLANNED


# --- many at once -----------------------------------------------------------------------------


def test_update_or_create_of_a_schedule_counts_from_now(job: CronJob) -> None:
    CronJob.objects.update_or_create(
        job_id="report", defaults={"cron_expression": "45 5 * * *", "queue": "mail"}
    )

    assert owned() | {"plan_from": None} == PLANNED
    assert_counts_from_now()


def test_update_or_create_of_the_same_schedule_loses_no_slot(job: CronJob) -> None:
    _, created = CronJob.objects.update_or_create(
        job_id="report", defaults={"cron_expression": "30 5 * * *", "queue": "mail"}
    )

    assert not created
    assert owned() == PLANNED


def test_bulk_update_of_a_schedule_counts_from_now(job: CronJob) -> None:
    job.cron_expression = "45 5 * * *"
    CronJob.objects.bulk_update([job], ["cron_expression", "queue"])

    assert owned() | {"plan_from": None} == PLANNED
    assert_counts_from_now()


def test_bulk_update_of_the_same_schedule_loses_no_slot(job: CronJob) -> None:
    CronJob.objects.bulk_update([job], ["cron_expression", "is_active", "ends_at", "queue"])

    assert owned() == PLANNED


def test_bulk_create_over_rows_keeps_the_scheduler_s_columns(job: CronJob) -> None:
    changed = CronJob(job_id="report", task_name="shop.report", cron_expression="45 5 * * *")
    CronJob.objects.bulk_create(
        [changed],
        update_conflicts=True,
        update_fields=["cron_expression", "queue"],
        unique_fields=["job_id"],
    )

    assert owned() == PLANNED
    # Like plain SQL: it counts from the tick that notices it.
    assert CronJob.objects.get().due_at == NEEDS_PLANNING


# --- fixtures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("natural", [False, True])
def test_loading_what_was_dumped_changes_nothing(
    job: CronJob, tmp_path: Path, natural: bool
) -> None:
    file = dumped(tmp_path / "jobs.json", use_natural_primary_keys=natural)
    before = CronJob.objects.values().get()
    load(file)

    assert CronJob.objects.values().get() == before


@pytest.mark.parametrize("natural", [False, True])
def test_a_schedule_changed_in_a_fixture_counts_from_now(
    job: CronJob, tmp_path: Path, natural: bool
) -> None:
    file = dumped(tmp_path / "jobs.json", use_natural_primary_keys=natural)
    file.write_text(file.read_text().replace("30 5 * * *", "45 5 * * *"))
    load(file)

    assert CronJob.objects.get().cron_expression == "45 5 * * *"
    assert owned() | {"plan_from": None} == PLANNED
    assert_counts_from_now()


def test_a_fixture_that_names_cursors_does_not_move_them(job: CronJob, tmp_path: Path) -> None:
    file = dumped(tmp_path / "jobs.json")
    (row,) = json.loads(file.read_text())
    row["fields"] |= {"next_run_at": "2020-01-01T00:00:00Z", "last_error": "old"}
    file.write_text(json.dumps([row]))
    load(file)

    assert owned() == PLANNED


def test_a_fixture_into_an_empty_table_makes_new_jobs(job: CronJob, tmp_path: Path) -> None:
    file = dumped(tmp_path / "jobs.json")
    CronJob.objects.all().delete()
    load(file)

    assert CronJob.objects.values("next_run_at", "last_run_at", "last_error").get() == {
        "next_run_at": None,
        "last_run_at": None,
        "last_error": "",
    }
    assert_counts_from_now()


async def test_no_slot_is_lost_to_a_fixture_loaded_while_one_is_due(tmp_path: Path) -> None:
    clock, queue = FakeClock("2026-11-01T05:29:30Z"), RecordingEnqueuer()
    scheduler = DynamicScheduler(DjangoCronJobRepository(), queue, clock=clock)
    await CronJob.objects.acreate(
        job_id="report",
        task_name="shop.report",
        cron_expression="30 5 * * *",
        plan_from=clock.now(),
    )
    await scheduler.tick()
    clock.advance(60)
    await sync_to_async(lambda: load(dumped(tmp_path / "jobs.json")))()
    await scheduler.tick()

    assert queue.slots == [("report", "2026-11-01T05:30Z")]
