"""Running, pausing and resuming in the browser, with scripts and without."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from django_dyncron.models import CronJob, CronRun, Pause, Replica
from tests.django.admin_pages import JOBS, RUNS, TASK, a_job, a_run, client_with

from .visits import Visits

pytestmark = pytest.mark.browser


GO = re.compile("^(Go|Run)$")
"""What takes an action on the list is called, by Django up to 6.0 and from 6.1 on."""


def row_of(page: Page, job_id: str) -> Locator:
    # The link holds the name of the task as well.
    link = page.get_by_role("link", name=re.compile(rf"^{re.escape(job_id)}\s"))
    return page.get_by_role("row").filter(has=link)


def choose(page: Page, action: str, *job_ids: str) -> None:
    """Take an action of the list on these jobs."""
    for job_id in job_ids:
        row_of(page, job_id).get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option(label=action)
    page.get_by_role("button", name=GO).click()


def test_run_now_and_see_the_run_appear(
    visits: Visits, scripting: bool, tick: Callable[[], None]
) -> None:
    job = a_job()
    operator = client_with("view_cronjob", "run_cronjob", "view_cronrun", name="ann")
    page = visits.begin(operator, java_script_enabled=scripting)

    page.goto(f"{JOBS}{job.pk}/change/")
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("1 run was asked for.")).to_be_visible()
    page.goto(RUNS)
    row = page.get_by_role("row").filter(has_text="newsletter")
    expect(row).to_contain_text("claimed")

    tick()
    page.reload()
    expect(row).to_contain_text("succeeded")
    expect(row).to_contain_text("web-1")
    expect(row).to_have_count(1)
    run = CronRun.objects.get()
    assert (run.kind, run.asked_by, run.status) == ("manual", "ann", "succeeded")


def test_run_several_now_from_the_list(visits: Visits, scripting: bool) -> None:
    for job_id in ("first", "second", "third"):
        a_job(job_id)
    page = visits.begin(client_with("view_cronjob", "run_cronjob"), java_script_enabled=scripting)

    page.goto(JOBS)
    choose(page, "Run selected cron jobs now", "first", "third")

    expect(page.get_by_text("2 runs were asked for.")).to_be_visible()
    assert sorted(CronRun.objects.values_list("job_id", flat=True)) == ["first", "third"]


def test_pause_with_a_reason_and_resume(visits: Visits, scripting: bool) -> None:
    job = a_job()
    page = visits.begin(client_with("view_cronjob", "pause_cronjob"), java_script_enabled=scripting)

    page.goto(f"{JOBS}{job.pk}/change/")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_label("Reason:").fill("The printer is <b>broken</b>")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("Paused 1 cron job.")).to_be_visible()
    expect(page.get_by_text("The printer is <b>broken</b>").first).to_be_visible()
    page.goto(JOBS)
    expect(row_of(page, "newsletter")).to_contain_text("Paused")
    expect(row_of(page, "newsletter")).to_contain_text("The printer is <b>broken</b>")
    job.refresh_from_db()
    assert (job.is_active, job.pause_reason) == (False, "The printer is <b>broken</b>")

    choose(page, "Resume selected cron jobs", "newsletter")
    expect(page.get_by_text("Resumed 1 cron job")).to_be_visible()
    expect(row_of(page, "newsletter")).to_contain_text("Active")
    job.refresh_from_db()
    assert (job.is_active, job.pause_reason) == (True, "")


def test_pause_several_from_the_list(visits: Visits, scripting: bool) -> None:
    for job_id in ("first", "second", "third"):
        a_job(job_id)
    page = visits.begin(client_with("view_cronjob", "pause_cronjob"), java_script_enabled=scripting)

    page.goto(JOBS)
    choose(page, "Pause selected cron jobs", "first", "third")
    expect(page.get_by_role("listitem").filter(has_text="third")).to_be_visible()
    page.get_by_label("Reason:").fill("deploy")
    page.get_by_role("button", name="Pause", exact=True).click()

    expect(page.get_by_text("Paused 2 cron jobs.")).to_be_visible()
    paused = CronJob.objects.filter(is_active=False, pause_reason="deploy")
    assert sorted(paused.values_list("job_id", flat=True)) == ["first", "third"]


def test_pause_everything_and_its_banner(visits: Visits, scripting: bool) -> None:
    job = a_job()
    operator = client_with("view_cronjob", "pause_cronjob", name="ann")
    page = visits.begin(operator, java_script_enabled=scripting)

    page.goto(JOBS)
    page.get_by_role("link", name="Pause everything").click()
    page.get_by_label("Reason:").fill("The database moves")
    page.get_by_role("button", name="Pause", exact=True).click()
    banner = page.get_by_role("listitem").filter(has_text="Everything is paused")
    expect(banner).to_contain_text("ann")
    expect(banner).to_contain_text("The database moves")
    page.goto(f"{JOBS}{job.pk}/change/")
    expect(banner).to_be_visible()
    assert Pause.objects.get().until is None

    banner.get_by_role("button", name="Resume everything").click()
    expect(page.get_by_text("Everything is resumed")).to_be_visible()
    expect(banner).to_have_count(0)
    assert Pause.objects.get().until is not None


def test_a_banner_tells_that_no_scheduler_runs(
    visits: Visits, scripting: bool, tick: Callable[[], None]
) -> None:
    page = visits.begin(client_with("view_cronjob"), java_script_enabled=scripting)

    page.goto(JOBS)
    expect(page.get_by_text("No scheduler has ever run")).to_be_visible()

    tick()
    silence = timedelta(minutes=3, seconds=10)
    Replica.objects.update(stopped_at=None, seen_at=timezone.now() - silence)
    page.reload()
    expect(page.get_by_text("No scheduler has ticked for 3")).to_contain_text("web-1")

    Replica.objects.update(seen_at=timezone.now())
    page.reload()
    expect(page.get_by_text("No scheduler")).to_have_count(0)


def test_duplicate_opens_a_form_that_is_filled_in(visits: Visits, scripting: bool) -> None:
    job = a_job(time_zone="Europe/Berlin")
    page = visits.begin(client_with("view_cronjob", "add_cronjob"), java_script_enabled=scripting)

    page.goto(f"{JOBS}{job.pk}/change/")
    page.get_by_role("link", name="Duplicate").click()
    expect(page.get_by_label("Task:")).to_have_value(TASK)
    expect(page.get_by_label("Job id:")).to_have_value("")
    page.get_by_label("Job id:").fill("newsletter-2")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(row_of(page, "newsletter-2")).to_contain_text("Europe/Berlin")
    assert CronJob.objects.count() == 2


def test_deleting_warns_and_keeps_the_history(visits: Visits, scripting: bool) -> None:
    job = a_job()
    a_run("newsletter", "2026-11-30T06:30Z", "succeeded")
    page = visits.begin(
        client_with("view_cronjob", "change_cronjob", "delete_cronjob"),
        java_script_enabled=scripting,
    )

    page.goto(f"{JOBS}{job.pk}/change/")
    # A link that Django calls a button from 6.1 on.
    delete = page.get_by_role("link", name="Delete").or_(page.get_by_role("button", name="Delete"))
    delete.click()
    expect(page.get_by_text("The history of runs stays.")).to_be_visible()
    page.get_by_role("button", name="Yes, I’m sure").click()

    expect(page.get_by_text("was deleted successfully")).to_be_visible()
    assert not CronJob.objects.exists()
    assert CronRun.objects.get().job_id == "newsletter"


def test_who_may_only_look_is_offered_nothing_else(visits: Visits, scripting: bool) -> None:
    job = a_job()
    page = visits.begin(client_with("view_cronjob"), java_script_enabled=scripting)

    for path in (JOBS, f"{JOBS}{job.pk}/change/"):
        page.goto(path)
        expect(page.get_by_text("newsletter").first).to_be_visible()
        for name in ("Run now", "Pause", "Resume", "Save", "Check", "Delete", GO):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        for name in ("Duplicate", "Delete", "Pause everything", "Add cron job"):
            expect(page.get_by_role("link", name=name)).to_have_count(0)
