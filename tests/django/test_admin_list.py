"""The list of cron jobs: what an operator reads from it, and what it costs."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_dyncron.models import CronJob, Pause
from tests.django.admin_pages import JOBS, RUNS, TASK, a_job, a_run, at, client_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer() -> Client:
    return client_with("view_cronjob", "view_cronrun")


def page(client: Client, query: str = "") -> str:
    answer = client.get(JOBS + query)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def last_run(client: Client) -> str:
    """Return the cell of the only job with what became of its last run, its bars left out."""
    (cell,) = re.findall(r'<td class="field-last_runs">(.*?)</td>', page(client))
    return re.sub(r"<svg.*</svg>", "", cell)


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

    text = last_run(viewer)

    assert "failed" in text
    assert "2026-11-30 10:00 UTC" in text
    assert "2026-11-30 09:00 UTC" not in text
    assert "2026-11-30 11:00 UTC" not in text


def test_the_last_run_may_lie_further_back_than_the_bars(viewer: Client) -> None:
    a_job()
    a_run("newsletter", "2026-11-29T09:00Z", "succeeded", created_at=at("2026-11-29T09:00Z"))
    for minute in range(31):
        slot = f"2026-11-30T10:{minute:02}Z"
        a_run("newsletter", slot, "skipped", created_at=at(slot), reason="overlap")

    assert "succeeded" in last_run(viewer)
    assert "2026-11-29 09:00 UTC" in last_run(viewer)
    assert 'aria-label="Last 30 runs: 30 skipped"' in page(viewer)


def test_a_manual_run_counts_as_the_last_one(viewer: Client) -> None:
    a_job()
    a_run("newsletter", "2026-11-30T09:00Z", "failed", created_at=at("2026-11-30T09:00Z"))
    a_run("newsletter", None, "succeeded", kind="manual", created_at=at("2026-11-30T09:05Z"))

    text = last_run(viewer)

    assert "succeeded" in text
    assert "2026-11-30 09:05 UTC" in text


def test_what_became_of_runs_is_for_those_who_may_see_runs() -> None:
    job = a_job()
    a_run("newsletter", "2026-11-30T09:00Z", "failed", error="OSError", reason="misfire")
    CronJob.objects.update(last_run_at=at("2026-11-30T09:00Z"))
    blind = client_with("view_cronjob", name="blind")

    assert "2026-11-30 09:00 UTC" in last_run(blind)
    for text in (page(blind), page(blind, f"{job.pk}/change/")):
        assert "</span> failed" not in text
        assert "dyncron-bars" not in text
    seeing = client_with("view_cronjob", "view_cronrun", name="seeing")
    assert "2026-11-30 09:00 UTC: failed (missed)</title>" in page(seeing)
    assert "</span> failed" in last_run(seeing)
    assert "</span> failed" in page(seeing, f"{job.pk}/change/")


def test_a_long_error_is_cut_in_the_list_and_whole_on_the_form(viewer: Client) -> None:
    job = a_job()
    CronJob.objects.update(
        last_error="E" * 200,
        is_settled=True,
        plan_from=None,
        planned_cron_expression="30 6 * * *",
        planned_time_zone="",
        planned_dst_gap="run_after",
        planned_dst_fold="first",
        planned_in_zone="",
    )

    def shown(query: str) -> list[str]:
        text = page(viewer, query)
        return re.findall(r'<span class="dyncron-error"[^>]*>(.*?)</span>', text)

    assert shown("") == ["E" * 159 + "…"]
    assert shown(f"{job.pk}/change/") == ["E" * 200]


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

    for number in range(10):
        a_job(f"job-{number}")
        a_run(f"job-{number}", "2026-11-30T09:00Z", "succeeded")
    few = queries()
    for number in range(10, 100):
        a_job(f"job-{number}")
        a_run(f"job-{number}", "2026-11-30T09:00Z", "succeeded")

    assert queries() == few
    assert few == 11


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


@time_machine.travel(at("2026-11-30T12:00Z"), tick=False)
def test_a_slot_that_no_scheduler_took_is_overdue(viewer: Client) -> None:
    planned = {
        "plan_from": None,
        "planned_cron_expression": "30 6 * * *",
        "planned_time_zone": "",
        "planned_dst_gap": "run_after",
        "planned_dst_fold": "first",
        "planned_in_zone": "UTC",
    }
    a_job("late", next_run_at=at("2026-11-30T11:58Z"), **planned)
    a_job("in time", next_run_at=at("2026-11-30T11:59Z"), **planned)
    a_job("unplanned", plan_from=at("2026-11-01T00:00Z"))

    assert ids(viewer, "?state=overdue") == ["late"]
    assert page(viewer).count("</span> Overdue</span>") == 1

    # A scheduler would record its slots as skipped.
    Pause.objects.create()
    assert ids(viewer, "?state=overdue") == ["late"]


def test_a_paused_job_says_why(viewer: Client) -> None:
    a_job(is_active=False, pause_reason="The <bank> is closed.")

    assert "Paused</span> <small>The &lt;bank&gt; is closed.</small>" in page(viewer)


def test_values_of_columns_are_filters_once_there_are_two(viewer: Client) -> None:
    a_job("a", queue="mail", time_zone="Europe/Berlin")
    assert [spec.title for spec in viewer.get(JOBS).context["cl"].filter_specs] == ["state"]

    a_job("b", task_name="reports.build")

    changelist = viewer.get(JOBS).context["cl"]
    offered = {spec.title: spec.lookup_choices for spec in changelist.filter_specs[1:]}
    assert offered == {
        "queue": [("default", "default"), ("mail", "mail")],
        "task": [("reports.build", "reports.build"), (TASK, TASK)],
        "time zone": [("", "The project’s"), ("Europe/Berlin", "Europe/Berlin")],
    }
    assert ids(viewer, "?queue=mail") == ["a"]
    assert ids(viewer, "?queue=gone") == []
    assert ids(viewer, "?task_name=reports.build") == ["b"]
    assert ids(viewer, "?time_zone=Europe/Berlin") == ["a"]
    assert ids(viewer, "?time_zone=") == ["b"]


def test_of_too_many_values_a_part_is_typed(viewer: Client) -> None:
    for number in range(51):
        a_job(f"job-{number:02}", queue=f"tenant-{number:02}")

    query = "?queue__icontains=NT-4&state=active&p=1"
    assert ids(viewer, query)[:2] == ["job-40", "job-41"]
    assert len(ids(viewer, query)) == 10
    text = page(viewer, query)
    assert 'name="queue__icontains" value="NT-4" aria-label="Part of the queue"' in text
    # By this form, as by the one to search.
    assert text.count('<input type="hidden" name="state" value="active">') == 2
    # By the form to search alone, which also forgets the page.
    assert text.count('<input type="hidden" name="queue__icontains" value="NT-4">') == 1
    assert 'name="p"' not in text
    assert '<li><a href="?state=active">All</a>' in text
    assert "tenant-07</a>" not in text


def test_what_is_offered_are_the_newest_values_and_the_rest_is_typed(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_dyncron.admin.filters._LOOKED_AT", 2)
    a_job("old", queue="legacy")
    a_job("new", queue="mail")
    a_job("newest", queue="mail")

    text = page(viewer)
    assert ">mail</a>" in text
    assert ">legacy</a>" not in text
    assert ids(viewer, "?queue__icontains=leg") == ["old"]
    # To choose a value is to give up what was typed.
    text = page(viewer, "?queue__icontains=leg&state=active")
    assert '<a href="?queue=mail&amp;state=active">mail</a>' in text
    assert '<li><a href="?state=active">All</a>' in text


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
