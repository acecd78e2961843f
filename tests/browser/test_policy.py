"""The tests of this package would notice what they are there to notice."""

from __future__ import annotations

import pytest
from django.test import Client

from django_dyncron.models import CronJob, CronRun
from tests.django.admin_pages import JOBS, REPLICAS, RUNS, client_with

from .csp import POLICY
from .visits import Visits

pytestmark = pytest.mark.browser


def test_every_page_comes_with_the_policy(visits: Visits) -> None:
    page = visits.begin(client_with("view_cronjob"))

    answer = page.goto(JOBS)

    assert answer is not None
    assert answer.headers["content-security-policy"] == POLICY == "default-src 'self'"


def test_no_page_breaks_the_policy(visits: Visits, operator: Client, scripting: bool) -> None:
    page = visits.begin(operator, java_script_enabled=scripting)
    job, run = CronJob.objects.get(job_id="newsletter"), CronRun.objects.latest("created_at")
    of_job = [f"{JOBS}{job.pk}/{name}/" for name in ("change", "delete", "history")]
    pages = [JOBS, f"{JOBS}add/", f"{JOBS}overview/", f"{JOBS}pause-everything/", *of_job]
    others = [RUNS, f"{RUNS}{run.pk}/change/", REPLICAS, f"{REPLICAS}web-1/change/"]

    for path in ["/admin/django_dyncron/", *pages, *others]:
        answer = page.goto(path)
        assert answer is not None
        assert answer.ok, path

    assert visits.complaints == []


@pytest.mark.parametrize(
    "markup",
    ["<p style='color: red'>", "<img src='x' onerror='alert(1)'>", "<img src='data:image/gif,'>"],
)
def test_a_violation_of_the_policy_is_heard(visits: Visits, markup: str) -> None:
    page = visits.begin(client_with("view_cronjob"))
    page.goto(JOBS)

    page.evaluate("markup => document.body.insertAdjacentHTML('beforeend', markup)", markup)
    page.wait_for_timeout(200)

    assert any("violates" in each for each in visits.complaints), visits.complaints
    visits.complaints.clear()


def test_a_violation_is_heard_where_no_script_runs(visits: Visits) -> None:
    page = visits.begin(client_with("view_cronjob"), java_script_enabled=False)
    page.route(
        f"**{JOBS}",
        lambda route: route.fulfill(
            body="<p style='color: red'>",
            content_type="text/html",
            headers={"Content-Security-Policy": POLICY},
        ),
    )

    page.goto(JOBS)
    page.wait_for_timeout(200)

    assert any("Content Security Policy" in each for each in visits.complaints)
    visits.complaints.clear()
