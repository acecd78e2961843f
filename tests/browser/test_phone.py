"""The lists on a phone, or magnified four times: cards, under what is left of a head."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from django_dyncron.models import CronJob
from tests.django.admin_pages import JOBS, RUNS, a_job, a_run, client_with

from .visits import Visits

pytestmark = pytest.mark.browser

PHONE = {"width": 320, "height": 640}
SELECT_ALL = "Select all objects on this page for an action"


def test_jobs_are_sorted_and_all_of_them_selected(visits: Visits) -> None:
    for number in range(3):
        a_job(f"job-{number}")
    pauser = client_with("view_cronjob", "pause_cronjob")
    page = visits.begin(pauser, viewport=PHONE)

    page.goto(JOBS)
    names = page.locator("#result_list th.field-job a")
    expect(names).to_contain_text(["job-0", "job-1", "job-2"])
    page.locator("thead").get_by_text("Cron job").click()
    expect(names).to_contain_text(["job-2", "job-1", "job-0"])
    page.get_by_title("Toggle sorting").click()
    expect(names).to_contain_text(["job-0", "job-1", "job-2"])

    page.get_by_label(SELECT_ALL).check()
    expect(page.get_by_text("3 of 3 selected")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert CronJob.objects.filter(is_active=True).count() == 3


def test_runs_are_sorted(visits: Visits) -> None:
    a_job()
    a_run("newsletter", "2026-11-30T09:00Z", "succeeded")
    page = visits.begin(client_with("view_cronrun"), viewport=PHONE)

    page.goto(RUNS)
    expect(page.get_by_title("Toggle sorting")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 320
