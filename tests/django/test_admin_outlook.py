"""What lies ahead of a job is told from its row, whether or not a tick has planned it."""

from __future__ import annotations

from datetime import datetime

import pytest

from django_dyncron.core.planning import PlanningRules
from django_dyncron.models import CronJob
from django_dyncron.outlook import JobState, outlook, planning_rules, rows_in, upcoming_slots
from tests.django.admin_pages import a_job, at

pytestmark = pytest.mark.django_db

NOON = at("2026-11-30T12:00Z")
RULES = PlanningRules()


def planned(job: CronJob, next_run_at: datetime | None, **columns: object) -> CronJob:
    """Write what a tick writes when it has planned ``job``."""
    CronJob.objects.filter(pk=job.pk).update(
        plan_from=None,
        next_run_at=next_run_at,
        planned_cron_expression=job.cron_expression,
        planned_time_zone=job.time_zone,
        planned_dst_gap=job.dst_gap,
        planned_dst_fold=job.dst_fold,
        planned_starts_at=job.starts_at,
        planned_ends_at=job.ends_at,
        **{"planned_in_zone": "UTC", **columns},
    )
    return CronJob.objects.get(pk=job.pk)


def test_a_new_job_is_planned_for_show() -> None:
    job = a_job(cron_expression="30 6 * * *", time_zone="Europe/Berlin")
    CronJob.objects.update(plan_from=NOON)
    job.refresh_from_db()

    ahead = outlook(job, NOON, RULES)

    assert ahead.state is JobState.ACTIVE
    assert ahead.next_run_at == at("2026-12-01T05:30Z")
    assert ahead.error == ""


def test_slots_since_an_edit_that_no_tick_has_seen_are_overdue() -> None:
    job = a_job(cron_expression="30 * * * *")
    CronJob.objects.update(plan_from=at("2026-11-30T10:00Z"))
    job.refresh_from_db()

    assert outlook(job, NOON, RULES).next_run_at == at("2026-11-30T10:30Z")


def test_a_planned_job_shows_its_cursor() -> None:
    job = planned(a_job(), at("2026-11-30T12:34Z"))

    ahead = outlook(job, NOON, RULES)

    assert (ahead.state, ahead.next_run_at) == (JobState.ACTIVE, at("2026-11-30T12:34Z"))


def test_a_broken_expression_is_known_before_the_first_tick() -> None:
    ahead = outlook(a_job(cron_expression="99 * * * *"), NOON, RULES)

    assert (ahead.state, ahead.next_run_at) == (JobState.BROKEN, None)
    assert "99" in ahead.error


def test_the_project_zone_counts_for_a_job_without_one(settings: object) -> None:
    settings.DYNCRON = {"TIME_ZONE": "Asia/Tokyo"}  # type: ignore[attr-defined]
    job = a_job(cron_expression="0 6 * * *")
    CronJob.objects.update(plan_from=NOON)
    job.refresh_from_db()

    assert outlook(job, NOON, planning_rules()).next_run_at == at("2026-11-30T21:00Z")


@pytest.mark.parametrize(
    "state, error",
    [
        (JobState.ACTIVE, ""),
        (JobState.FAILING, "OSError: disk full"),
        (JobState.BROKEN, "Minute '99': use 0-59"),
        (JobState.PAUSED, ""),
        (JobState.ENDED, ""),
        (JobState.ENDED, "OSError: disk full"),
    ],
)
def test_the_filter_and_the_row_agree_on_each_state(state: JobState, error: str) -> None:
    job = a_job(is_active=state is not JobState.PAUSED)
    has_cursor = state in (JobState.ACTIVE, JobState.FAILING)
    job = planned(
        job,
        at("2026-12-01T06:30Z") if has_cursor else None,
        last_error=error,
        is_settled=state in (JobState.BROKEN, JobState.ENDED),
        planned_in_zone="" if state in (JobState.BROKEN, JobState.PAUSED) else "UTC",
    )

    ahead = outlook(job, NOON, RULES)

    assert (ahead.state, ahead.error) == (state, error)
    assert [each for each in JobState if CronJob.objects.filter(rows_in(each)).exists()] == [state]


def test_an_edit_that_mends_a_job_is_believed_at_once() -> None:
    job = planned(
        a_job(cron_expression="99 * * * *"),
        None,
        last_error="Minute '99': use 0-59",
        is_settled=True,
        planned_in_zone="",
    )
    job.cron_expression = "9 * * * *"
    job.save()
    CronJob.objects.update(plan_from=NOON)
    job = CronJob.objects.get()

    ahead = outlook(job, NOON, RULES)

    assert (ahead.state, ahead.error) == (JobState.ACTIVE, "")
    assert ahead.next_run_at == at("2026-11-30T12:09Z")
    assert list(CronJob.objects.filter(rows_in(JobState.ACTIVE))) == [job]


def test_a_failed_run_is_remembered_across_an_edit() -> None:
    job = planned(a_job(), at("2026-12-01T06:30Z"), last_error="OSError: disk full")
    job.cron_expression = "9 * * * *"
    job.save()
    job = CronJob.objects.get()

    ahead = outlook(job, NOON, RULES)

    assert (ahead.state, ahead.error) == (JobState.FAILING, "OSError: disk full")
    assert list(CronJob.objects.filter(rows_in(JobState.FAILING))) == [job]


def test_upcoming_slots_keep_to_the_dates_of_the_job() -> None:
    job = CronJob(
        job_id="unsaved",
        cron_expression="0 9 * * *",
        starts_at=at("2026-12-24T09:00Z"),
        ends_at=at("2026-12-25T09:00Z"),
    )

    schedule, slots = upcoming_slots(job, 5, NOON, RULES)

    assert schedule.time_zone == "UTC"
    assert slots == [at("2026-12-24T09:00Z"), at("2026-12-25T09:00Z")]
