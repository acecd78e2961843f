"""axe-core finds nothing on our pages that it does not find on the stock pages of the admin."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page

from django_dyncron import pausing
from django_dyncron.models import CronJob, CronRun, Replica
from tests.django.admin_pages import JOBS, REPLICAS, RUNS

from .visits import Visits

pytestmark = pytest.mark.browser


@pytest.fixture(
    params=[(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")],
    ids=["desktop-light", "desktop-dark", "phone-light", "phone-dark"],
)
def page(visits: Visits, operator: Client, request: pytest.FixtureRequest) -> Page:
    """A page of the operator's, on one of the devices, with light or dark colours."""
    width, scheme = request.param
    # axe looks at style sheets in ways of its own, which the policy of the site would not allow.
    return visits.begin(
        operator,
        bypass_csp=True,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
    )


def faults(page: Page) -> set[str]:
    """Return what axe finds on the page: the rule and the kind of element of each."""
    page.locator("details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
    found: dict[str, Any] = Axe().run(page).response
    return {
        f"{each['id']}: {kind_of(node['html'])}"
        for each in found["violations"]
        for node in each["nodes"]
    }


def faults_by_path(page: Page, *paths: str) -> dict[str, set[str]]:
    """Return the faults of the page at each path."""
    found = {}
    for path in paths:
        page.goto(path)
        found[path] = faults(page)
    return found


def kind_of(element: str) -> str:
    """Return the element without what differs from one to the next: ``input.vDateField``."""
    tag = re.split(r"[\s>]", element[1:], maxsplit=1)[0]
    classes = re.search(r' class="([^"]*)"', element)
    return ".".join([tag, *(classes[1].split() if classes else ())])


@pytest.fixture
def stock(page: Page, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What axe finds on pages that are Django's alone."""
    # An option of the list that ours makes use of.
    monkeypatch.setattr(UserAdmin, "search_help_text", "Search by name.")
    user, group = User.objects.get(), Group.objects.get()
    found = faults_by_path(
        page,
        "/admin/auth/",
        "/admin/auth/user/",
        f"/admin/auth/user/{user.pk}/change/",
        f"/admin/auth/user/{user.pk}/delete/",
        f"/admin/auth/group/{group.pk}/change/",
    )
    page.goto("/admin/auth/user/add/")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Please correct the errors below.").wait_for()
    return faults(page).union(*found.values())


def test_axe_finds_no_more_than_on_the_stock_pages(page: Page, stock: set[str]) -> None:
    job, run = CronJob.objects.get(job_id="newsletter"), CronRun.objects.latest("created_at")

    found = faults_by_path(
        page,
        "/admin/django_dyncron/",
        JOBS,
        f"{JOBS}add/",
        f"{JOBS}{job.pk}/delete/",
        f"{JOBS}pause-everything/",
        f"{RUNS}{run.pk}/change/",
        RUNS,
        REPLICAS,
        f"{REPLICAS}web-1/change/",
    )
    pausing.pause_all("The database moves", "ann")
    Replica.objects.update(seen_at=timezone.now() - timedelta(minutes=10))
    page.goto(JOBS)
    found["list with banners"] = faults(page)
    found |= faults_by_path(page, f"{JOBS}overview/", f"{JOBS}{job.pk}/change/")
    page.get_by_label("Cron expression:").fill("99 * * * *")
    page.get_by_role("button", name="Check").click()
    page.get_by_text("Please correct the error below.").wait_for()
    found["form with a mistake"] = faults(page)

    assert {path: more for path, each in found.items() if (more := each - stock)} == {}


def test_a_fault_is_found(page: Page) -> None:
    page.goto(JOBS)
    page.evaluate("document.querySelector('#content').insertAdjacentHTML('afterbegin', '<input>')")

    found = Axe().run(page).response["violations"]

    assert "label" in [each["id"] for each in found]


@pytest.mark.parametrize(
    "element, kind",
    [
        ('<input type="text" class="vDateField wide" id="x">', "input.vDateField.wide"),
        ("<h2>Filter</h2>", "h2"),
    ],
)
def test_kinds_of_elements(element: str, kind: str) -> None:
    assert kind_of(element) == kind
