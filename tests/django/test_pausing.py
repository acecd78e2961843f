"""Pausing some jobs with a reason, and pausing everything, by the functions that pages call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from io import StringIO
from time import sleep
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import Count
from django.utils import timezone

from django_dyncron.core.planning import PlanningRules
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.models import CronJob, CronRun, Pause
from django_dyncron.outlook import JobState, outlook
from django_dyncron.pausing import begin_pause, current_pause, pause, pause_all, resume, resume_all
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock, RecordingEnqueuer
from tests.django.admin_pages import a_job

pytestmark = pytest.mark.django_db


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


# --- some jobs ------------------------------------------------------------------------------------


def test_a_job_is_paused_for_a_reason_and_resumed_from_now_on() -> None:
    a_job("report")
    CronJob.objects.update(plan_from=None)
    (paused,) = pause(CronJob.objects.all(), "The API is down.")
    assert (paused.job_id, paused.is_active) == ("report", True)
    job = CronJob.objects.get()
    assert (job.is_active, job.pause_reason, job.plan_from) == (False, "The API is down.", None)
    ahead = outlook(job, timezone.now(), PlanningRules())
    assert (ahead.state, ahead.pause_reason) == (JobState.PAUSED, "The API is down.")
    (resumed,) = resume(CronJob.objects.all())
    assert resumed.job_id == "report"
    job.refresh_from_db()
    assert (job.is_active, job.pause_reason) == (True, "")
    assert job.plan_from is not None
    assert abs(job.plan_from - timezone.now()) < timedelta(seconds=30)


def test_only_what_is_not_so_yet_is_paused_or_resumed() -> None:
    a_job("active")
    a_job("paused", is_active=False, pause_reason="Before.")
    assert [job.job_id for job in pause(CronJob.objects.all(), "Now.")] == ["active"]
    reasons = CronJob.objects.order_by("job_id").values_list("pause_reason", flat=True)
    assert list(reasons) == ["Now.", "Before."]
    assert resume(CronJob.objects.filter(job_id="nobody")) == []
    assert len(resume(CronJob.objects.all())) == 2
    assert resume(CronJob.objects.all()) == []


def test_jobs_are_paused_whatever_query_finds_them() -> None:
    CronJob.objects.bulk_create(
        CronJob(job_id=f"job-{number}", task_name="t", cron_expression="0 0 * * *")
        for number in range(1001)
    )
    counted = CronJob.objects.values("queue").annotate(Count("pk")).values("queue")
    grouped = CronJob.objects.filter(queue__in=counted).annotate(jobs=Count("pk")).distinct()
    assert len(pause(grouped.order_by("-job_id"), "All.")) == 1001
    assert CronJob.objects.filter(is_active=False, pause_reason="All.").count() == 1001


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("was_active", [True, False])
def test_who_comes_second_has_changed_nothing(was_active: bool) -> None:
    a_job("report", is_active=was_active)

    def press() -> list[CronJob]:
        try:
            jobs = CronJob.objects.all()
            return pause(jobs, "Second.") if was_active else resume(jobs)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            CronJob.objects.update(is_active=not was_active, pause_reason="First.")
            second = pool.submit(press)
            sleep(0.3)
        assert second.result() == []
    assert CronJob.objects.get().pause_reason == "First."


def test_a_scheduler_leaves_the_reason_alone() -> None:
    a_job("report", is_active=False, pause_reason="Why.", next_run_at=at("2020-01-01T00:00Z"))
    job = CronJob.objects.get()
    job.description = "Saved."
    job.save()
    job.refresh_from_db()
    assert job.pause_reason == "Why."


# --- everything -----------------------------------------------------------------------------------


def test_everything_is_paused_once_and_resumed_once() -> None:
    assert current_pause() is None
    begun = pause_all("Moving the database.", "ann")
    assert begun is not None
    assert (begun.reason, begun.paused_by, begun.until) == ("Moving the database.", "ann", None)
    assert abs(begun.since - timezone.now()) < timedelta(seconds=30)
    assert pause_all("Me too.", "bob") == begun
    assert begin_pause("Me too.", "bob") is None
    assert current_pause() == begun
    assert resume_all("bob") is True
    assert resume_all("ann") is False
    assert current_pause() is None
    ended = Pause.objects.get()
    assert (ended.paused_by, ended.resumed_by, ended.lasts) == ("ann", "bob", None)
    assert ended.until is not None
    assert ended.until >= ended.since


def test_each_pause_is_a_row() -> None:
    for reason in ("one", "two"):
        pause_all(reason)
        resume_all()
    pause_all("three")
    assert list(Pause.objects.values_list("reason", flat=True)) == ["three", "two", "one"]


def test_resuming_touches_no_job() -> None:
    a_job("report")
    before = CronJob.objects.values().get()
    pause_all()
    resume_all()
    assert CronJob.objects.values().get() == before


def test_a_pause_never_ends_before_it_began() -> None:
    Pause.objects.create(since=timezone.now() + timedelta(hours=1))
    assert resume_all()
    pause_row = Pause.objects.get()
    assert pause_row.until == pause_row.since


@pytest.mark.parametrize(
    "values",
    [
        {"since": at("2030-01-01T12:00Z"), "until": at("2030-01-01T11:00Z")},
        {"since": at("2030-01-01T12:00Z"), "until": at("9500-01-01T00:00Z")},
        {"since": at("1960-01-01T12:00Z")},
    ],
)
def test_intervals_that_make_no_sense_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Pause.objects.create(**values)


def test_two_pauses_cannot_last() -> None:
    pause_all()
    with pytest.raises(IntegrityError), transaction.atomic():
        Pause.objects.create()


def test_a_pause_can_be_made_by_plain_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_dyncron_pause (reason) VALUES ('By hand.')")
    lasting = current_pause()
    assert lasting is not None
    assert lasting.reason == "By hand."


def test_pauses_are_dumped_and_loaded(tmp_path: Any) -> None:
    pause_all("Kept.", "ann")
    resume_all("bob")
    dump = StringIO()
    call_command("dumpdata", "django_dyncron.pause", stdout=dump)
    Pause.objects.all().delete()
    (tmp_path / "pauses.json").write_text(dump.getvalue())
    call_command("loaddata", tmp_path / "pauses.json", verbosity=0)
    loaded = Pause.objects.get()
    assert (loaded.reason, loaded.lasts, loaded.resumed_by) == ("Kept.", None, "bob")


@pytest.mark.django_db(transaction=True)
def test_of_people_who_press_at_once_one_begins_the_pause() -> None:
    def press(number: int) -> str:
        try:
            begun = pause_all(by=f"person {number}")
            return begun.paused_by if begun else ""
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        told = set(pool.map(press, range(8)))
    assert told == {Pause.objects.get().paused_by}


# --- with a scheduler -----------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_a_scheduler_heeds_the_pauses_in_the_table() -> None:
    clock, queue = FakeClock("2030-01-01T12:00:30Z"), RecordingEnqueuer()
    scheduler = DynamicScheduler(DjangoCronJobRepository(), queue, clock=clock)
    await CronJob.objects.acreate(
        job_id="report", task_name="t", cron_expression="* * * * *", plan_from=clock.now()
    )
    pause_row = await Pause.objects.acreate(since=at("2030-01-01T12:01:45Z"))
    for _ in range(4):
        await scheduler.tick()
        clock.advance(60)
    await Pause.objects.filter(pk=pause_row.pk).aupdate(until=at("2030-01-01T12:04:00Z"))
    await scheduler.tick()
    assert [slot[11:16] for _, slot in queue.slots] == ["12:01", "12:04"]
    skipped = CronRun.objects.filter(status="skipped", reason="paused").order_by("scheduled_for")
    assert [f"{run.scheduled_for:%H:%M}" async for run in skipped] == ["12:02", "12:03"]
