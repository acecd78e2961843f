"""Whatever a job is called, and whatever its errors say, is text on every page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from django_dyncron import pausing
from django_dyncron.models import CronRun
from tests.django.admin_pages import JOBS, RUNS, TASK, a_job, a_run, client_with

from .visits import Visits

pytestmark = pytest.mark.browser

NAME = "<script>alert(1)</script>"
ERROR = "<img src=x onerror=alert(2)>"
PERMISSIONS = (
    "add_cronjob",
    "change_cronjob",
    "delete_cronjob",
    "pause_cronjob",
    "run_cronjob",
    "view_cronjob",
    "view_cronrun",
    "view_replica",
)


@pytest.mark.parametrize(
    "path, name, error",
    [
        (JOBS, NAME, ERROR),
        (f"{JOBS}{{job}}/change/", NAME, ERROR),
        (f"{JOBS}{{job}}/delete/", NAME, None),
        (f"{JOBS}{{job}}/history/", NAME, None),
        (f"{JOBS}overview/", NAME, None),
        (RUNS, NAME, ERROR),
        (f"{RUNS}{{run}}/change/", NAME, ERROR),
    ],
)
def test_markup_stays_text(visits: Visits, path: str, name: str, error: str | None) -> None:
    job = a_job(NAME, last_error=ERROR, description=ERROR)
    a_job("paused", is_active=False, pause_reason=NAME)
    a_run(NAME, "2026-11-30T06:30Z", "failed", error=ERROR, replica=NAME, task_id=NAME)
    pausing.pause_all(NAME, by=NAME)
    page = visits.begin(client_with(*PERMISSIONS))

    page.goto(path.format(job=job.pk, run=CronRun.objects.get().pk))

    expect(page.get_by_text(name).first).to_be_visible()
    if error is not None:
        expect(page.get_by_text(error).first).to_be_visible()
    expect(page.locator("script", has_text="alert")).to_have_count(0)
    expect(page.locator("[onerror]")).to_have_count(0)


@pytest.mark.parametrize(
    "label, problem",
    [
        ("Cron expression:", "The expression has 1 field"),
        ("Time zone:", NAME),
        ("Task:", NAME),
    ],
)
def test_markup_that_is_typed_stays_text_in_the_preview(
    visits: Visits, label: str, problem: str
) -> None:
    job = a_job()
    page = visits.begin(client_with(*PERMISSIONS))
    page.goto(f"{JOBS}{job.pk}/change/")

    page.get_by_label(label, exact=True).fill(NAME)

    expect(page.get_by_role("status").filter(has_text=problem)).to_have_count(1)
    expect(page.locator("script", has_text="alert")).to_have_count(0)


def test_markup_stays_text_where_a_pause_is_asked_for(visits: Visits) -> None:
    job = a_job(NAME, task_name=TASK)
    page = visits.begin(client_with(*PERMISSIONS))
    page.goto(f"{JOBS}{job.pk}/change/")

    page.get_by_role("button", name="Pause", exact=True).click()

    expect(page.get_by_role("listitem").filter(has_text=NAME)).to_be_visible()
    expect(page.locator("script", has_text="alert")).to_have_count(0)
