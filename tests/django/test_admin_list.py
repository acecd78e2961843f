"""The list of cron jobs: what an operator reads from it, and what it costs."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_dyncron.models import CronJob, CronRun
from tests.django.admin_pages import JOBS, RUNS, TASK, a_job, at, client_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer() -> Client:
    return client_with("view_cronjob")


def a_run(job_id: str, slot: str | None, status: str, **values: object) -> CronRun:
    moment = at(slot) if slot else None
    run: CronRun = CronRun.objects.create(
        id=uuid4(), job_id=job_id, scheduled_for=moment, status=status, task_name=TASK, **values
    )
    return run


def page(client: Client, query: str = "") -> str:
    answer = client.get(JOBS + query)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def ids(client: Client, query: str) -> list[str]:
    jobs = client.get(JOBS + query).context["cl"].result_list
    return [job.job_id for job in jobs]


@time_machine.travel(at("2026-11-30T12:00Z"), tick=False)
def test_a_row_says_what_and_when_in_words(viewer: Client) -> None:
    a_job(cron_expression="30 6 * * *", time_zone="Europe/Berlin", queue="mail")
    CronJob.objects.update(plan_from=at("2026-11-30T11:00Z"))

    text = page(viewer)

    assert "newsletter" in text
    assert f"{TASK} → mail" in text.replace("<wbr>", "")
    assert "At 06:30 every day" in text
    assert "30 6 * * * Europe/Berlin" in text
    assert "in 17 hours, 30 minutes" in text
    assert "2026-12-01 05:30 UTC" in text
    assert "Active" in text


@time_machine.travel(at("2026-11-30T12:00Z"), tick=False)
def test_a_broken_row_shows_the_error_of_the_parser(viewer: Client) -> None:
    a_job(cron_expression="99 * * * *")

    text = page(viewer)

    assert "Broken" in text
    assert "Minute &#x27;99&#x27;" in text


@time_machine.travel(at("2026-11-30T12:00Z"), tick=False)
def test_the_last_run_is_the_newest_that_was_not_skipped(viewer: Client) -> None:
    a_job()
    a_run("newsletter", "2026-11-30T09:00Z", "succeeded")
    a_run("newsletter", "2026-11-30T10:00Z", "failed", error="OSError: disk full")
    a_run("newsletter", "2026-11-30T11:00Z", "skipped", reason="overlap")

    text = page(viewer)

    assert "failed" in text
    assert "2026-11-30 10:00 UTC" in text
    assert "2026-11-30 09:00 UTC" not in text
    assert "2026-11-30 11:00 UTC" not in text


def test_a_manual_run_counts_as_the_last_one(viewer: Client) -> None:
    a_job()
    a_run("newsletter", "2026-11-30T09:00Z", "failed", created_at=at("2026-11-30T09:00Z"))
    a_run("newsletter", None, "succeeded", kind="manual", created_at=at("2026-11-30T09:05Z"))

    text = page(viewer)

    assert "succeeded" in text
    assert "2026-11-30 09:05 UTC" in text


def test_what_people_typed_stays_text(viewer: Client) -> None:
    evil = "<script>alert(1)</script>"
    a_job(evil, task_name=evil, cron_expression=evil, time_zone=evil, queue=evil)
    CronJob.objects.update(last_error=evil)

    assert "<script>alert" not in page(viewer)


def test_the_number_of_queries_does_not_grow_with_the_rows(viewer: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page(viewer)
        return len(captured)

    for number in range(5):
        a_job(f"job-{number}")
        a_run(f"job-{number}", "2026-11-30T09:00Z", "succeeded")
    few = queries()
    for number in range(5, 50):
        a_job(f"job-{number}")
        a_run(f"job-{number}", "2026-11-30T09:00Z", "succeeded")

    assert queries() == few
    assert few == 9


def test_filters_and_search(viewer: Client) -> None:
    a_job("fine")
    a_job("paused", is_active=False)
    a_job("mailing", queue="mail", description="Weekly digest")

    assert ids(viewer, "?state=paused") == ["paused"]
    assert ids(viewer, "?state=active") == ["fine", "mailing"]
    assert ids(viewer, "?state=broken") == []
    assert ids(viewer, "?queue=mail") == ["mailing"]
    assert ids(viewer, "?q=digest") == ["mailing"]
    assert ids(viewer, "?q=paus") == ["paused"]


def test_every_column_can_be_sorted_by_but_the_state(viewer: Client) -> None:
    a_job("a", cron_expression="0 9 * * *")
    a_job("b", cron_expression="0 8 * * *")

    assert ids(viewer, "?o=-1") == ["b", "a"]
    assert ids(viewer, "?o=3") == ["b", "a"]
    assert set(ids(viewer, "?o=4")) == {"a", "b"}
    assert set(ids(viewer, "?o=5")) == {"a", "b"}


def test_a_job_links_to_its_runs_for_those_who_may_see_them() -> None:
    job = a_job("nightly & weekly")
    a_run("nightly & weekly", "2026-11-30T09:00Z", "succeeded")
    a_run("other", "2026-11-30T09:00Z", "succeeded")
    link = f"{RUNS}?job=nightly+%26+weekly"

    both = client_with("view_cronjob", "view_cronrun", name="both")
    assert link in both.get(f"{JOBS}{job.pk}/change/").content.decode()
    listed = both.get(link).context["cl"].result_list
    assert [run.job_id for run in listed] == ["nightly & weekly"]

    jobs_only = client_with("view_cronjob", name="jobs only")
    assert RUNS not in jobs_only.get(f"{JOBS}{job.pk}/change/").content.decode()


def test_a_late_tick_shows_as_time_ago(viewer: Client) -> None:
    a_job(cron_expression="0 * * * *")
    CronJob.objects.update(plan_from=at("2026-11-30T09:30Z"))

    with time_machine.travel(at("2026-11-30T12:00Z") + timedelta(seconds=20), tick=False):
        assert "2 hours ago" in page(viewer)
