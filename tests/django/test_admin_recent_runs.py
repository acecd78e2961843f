"""The newest runs beneath the form of a cron job."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest

from django_dyncron.models import CronRun
from tests.django.admin_pages import JOBS, RUNS, TASK, a_job, at, client_with
from tests.django.overview_page import page

pytestmark = pytest.mark.django_db

NOON = at("2026-11-30T12:00Z")


def a_run(job_id: str = "newsletter", **values: object) -> CronRun:
    usual = {"scheduled_for": NOON, "status": "succeeded", "task_name": TASK}
    run: CronRun = CronRun.objects.create(id=uuid4(), job_id=job_id, **(usual | values))
    return run


def test_the_form_of_a_job_ends_with_its_newest_runs() -> None:
    client = client_with("view_cronjob", "view_cronrun")
    job = a_job()
    runs = [
        a_run(
            scheduled_for=NOON + timedelta(hours=number),
            created_at=NOON + timedelta(hours=number),
            error=f"error-{number:02}",
        )
        for number in range(21)
    ]
    a_run("another", error="error of another")

    html = page(client, f"{JOBS}{job.pk}/change/")

    shown = re.findall(r"error-\d\d", html.split("field-recent_runs")[1])
    assert shown == [f"error-{number:02}" for number in range(20, 0, -1)]
    assert "error of another" not in html
    assert f'<a href="{RUNS}{runs[20].pk}/change/">2026-12-01 08:00 UTC</a>' in html


def test_a_job_without_runs_says_so() -> None:
    client = client_with("view_cronjob", "view_cronrun")

    assert "It has not run yet." in page(client, f"{JOBS}{a_job().pk}/change/")


def test_runs_beneath_the_form_are_for_those_who_may_see_runs() -> None:
    client = client_with("change_cronjob")
    a_run(error="OSError: disk full")

    html = page(client, f"{JOBS}{a_job().pk}/change/")

    assert "recent_runs" not in html


def test_a_new_job_has_no_runs_to_show() -> None:
    client = client_with("add_cronjob", "view_cronrun")

    assert "recent_runs" not in page(client, f"{JOBS}add/")


def test_runs_beneath_the_form_stay_text() -> None:
    client = client_with("view_cronjob", "view_cronrun")
    a_run(
        error="<script>",
        replica="<script>",
        asked_by="<script>",
        task_id="<script>",
        reason="<script>",
    )

    html = page(client, f"{JOBS}{a_job().pk}/change/").split("field-recent_runs")[1]

    assert "<script>" not in html.split("submit-row")[0]
    assert html.count("&lt;script&gt;") >= 5
