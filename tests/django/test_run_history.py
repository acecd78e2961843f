"""The latest runs of many jobs at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_dyncron.core.planning import PlanningRules
from django_dyncron.history import latest_runs, newest_runs
from django_dyncron.models import CronJob, CronRun
from django_dyncron.outlook import overdue
from tests.django.admin_pages import a_job
from tests.django.test_admin_outlook import planned

pytestmark = pytest.mark.django_db

NOON = datetime.fromisoformat("2026-11-30T12:00Z")
MINUTE = timedelta(minutes=1)


def a_run(job_id: str, minute: int, status: str = "succeeded", **values: object) -> CronRun:
    moment = NOON + minute * MINUTE
    usual = {"scheduled_for": moment, "created_at": moment, "task_name": "t", "status": status}
    return CronRun(id=uuid4(), job_id=job_id, **(usual | values))


def minutes(runs: list[CronRun]) -> list[int]:
    return [(run.created_at - NOON) // MINUTE for run in runs]


def test_the_newest_runs_of_each_job_come_oldest_first() -> None:
    jobs = [a_job(name) for name in ("busy", "quiet", "new")]
    CronRun.objects.bulk_create([a_run("busy", minute) for minute in range(50)])
    CronRun.objects.bulk_create([a_run("quiet", minute, "skipped") for minute in (7, 3)])
    CronRun.objects.bulk_create([a_run("elsewhere", 1)])
    found = newest_runs(jobs)
    assert set(found) == {"busy", "quiet", "new"}
    assert minutes(found["busy"]) == list(range(20, 50))
    assert minutes(found["quiet"]) == [3, 7]
    assert found["new"] == []
    assert minutes(newest_runs(jobs, 2)["busy"]) == [48, 49]


def test_runs_by_hand_stand_where_they_were_asked_for() -> None:
    job = a_job("report")
    CronRun.objects.bulk_create([a_run("report", minute) for minute in range(4)])
    by_hand = a_run("report", 2, kind="manual", scheduled_for=None)
    by_hand.created_at += timedelta(seconds=30)
    by_hand.save()
    kinds = [run.kind for run in newest_runs([job], 3)["report"]]
    assert kinds == ["scheduled", "manual", "scheduled"]


def test_many_runs_recorded_at_one_moment_are_cut_to_the_newest() -> None:
    job = a_job("report")
    CronRun.objects.bulk_create(a_run("report", slot, created_at=NOON) for slot in range(40))
    found = newest_runs([job], 10)["report"]
    slots = [(run.scheduled_for - NOON) // MINUTE for run in found if run.scheduled_for]
    assert slots == list(range(30, 40))


def test_the_oldest_of_the_newest_may_have_the_databases_own_time() -> None:
    job = a_job("report")
    by_hand = CronRun.objects.create(
        id=uuid4(), job_id="report", task_name="t", status="claimed", kind="manual"
    )
    later = timezone.now() + MINUTE
    CronRun.objects.bulk_create([a_run("report", 0, created_at=later)])
    assert newest_runs([job], 2)["report"][0] == by_hand


def test_the_latest_run_is_no_skipped_slot() -> None:
    jobs = [a_job("report"), a_job("paused"), a_job("new")]
    last = a_run("report", 2, "failed", error="OSError")
    same_tick = a_run("report", 1, created_at=NOON + 2 * MINUTE)
    skips = [a_run(name, 3, "skipped") for name in ("report", "paused")]
    CronRun.objects.bulk_create([same_tick, last, *skips])
    assert latest_runs(jobs) == {"report": last}
    CronRun.objects.bulk_create([a_run("report", 4, kind="manual", scheduled_for=None)])
    assert latest_runs(jobs)["report"].kind == "manual"


def test_of_no_jobs_there_is_no_history() -> None:
    assert newest_runs([]) == {}
    assert latest_runs([]) == {}
    unsaved = CronJob(job_id="unsaved")
    assert newest_runs([unsaved]) == {"unsaved": []}


def test_a_thousand_jobs_are_looked_up_at_once() -> None:
    CronJob.objects.bulk_create(
        CronJob(job_id=f"job-{number}", task_name="t", cron_expression="0 0 * * *")
        for number in range(1001)
    )
    CronRun.objects.bulk_create([a_run(f"job-{number}", 1) for number in range(1001)])
    jobs = list(CronJob.objects.order_by("pk"))
    with CaptureQueriesContext(connection) as queries:
        found = newest_runs(jobs)
    assert [minutes(runs) for runs in found.values()] == [[1]] * 1001
    assert len(queries) == 4
    assert len(latest_runs(jobs)) == 1001


@pytest.fixture
def _by_index() -> None:
    """Have PostgreSQL go by an index if it can: among so few rows it would rather read them all."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")


@pytest.mark.usefixtures("_by_index")
def test_each_takes_two_queries_that_find_their_runs_by_the_index() -> None:
    jobs = [a_job(f"job-{number}") for number in range(40)]
    CronRun.objects.bulk_create(a_run(job.job_id, minute) for job in jobs for minute in range(60))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as queries:
        newest_runs(jobs[:4], 5)
        latest_runs(jobs[:4])
    assert len(queries) == 4
    plans = [_plan(query["sql"]) for query in queries]
    assert ["django_dyncron_cronrun_history" in plan for plan in plans] == [True, True, True, False]


def _plan(sql: str) -> str:
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


@pytest.mark.usefixtures("_by_index")
def test_jobs_are_overdue_a_minute_after_the_tick_that_should_have_claimed_them() -> None:
    for job_id, seconds in (("late", 91), ("on time", 90), ("ahead", -60)):
        planned(a_job(job_id), NOON - timedelta(seconds=seconds))
    planned(a_job("settled"), NOON - timedelta(days=1), is_settled=True)
    a_job("new")
    late = CronJob.objects.filter(overdue(NOON, PlanningRules())).order_by("due_at")
    assert [job.job_id for job in late] == ["late"]
    slower = PlanningRules(tick_interval=timedelta(seconds=31))
    assert not CronJob.objects.filter(overdue(NOON, slower)).exists()
    assert "django_dyncron_cronjob_due_at" in late.explain()
