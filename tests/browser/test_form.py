"""The form tells what an expression means while it is typed, and each mistake at its field."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from django_dyncron.models import CronJob
from tests.django.admin_pages import JOBS, TASK, client_with

from .visits import Visits

pytestmark = pytest.mark.browser

ADD = f"{JOBS}add/"


def fill_in(page: Page, **values: str) -> None:
    """Type into the fields with these labels."""
    for label, value in values.items():
        page.get_by_label(f"{label.replace('_', ' ')}:", exact=True).fill(value)


def test_the_preview_follows_what_is_typed(visits: Visits) -> None:
    page = visits.begin(client_with("add_cronjob"), timezone_id="Asia/Tokyo")
    page.goto(ADD)

    fill_in(page, Cron_expression="30 6 * * MON")
    page.get_by_text("At 06:30, on Monday").first.wait_for()
    upcoming = page.get_by_role("table", name="Next runs")
    expect(upcoming.get_by_role("row")).to_have_count(6)
    expect(upcoming.get_by_role("columnheader")).to_contain_text(["UTC", "Asia/Tokyo", "From now"])

    fill_in(page, Time_zone="Europe/Berlin")
    expect(upcoming.get_by_role("columnheader")).to_contain_text(
        ["Europe/Berlin", "UTC", "Asia/Tokyo", "From now"]
    )
    expect(upcoming.get_by_role("row").nth(1)).to_contain_text(" 06:30")

    fill_in(page, Cron_expression="0 0 31 2 *")
    expect(upcoming).to_have_count(0)
    expect(page.get_by_text("never fires, as month").first).to_be_visible()
    assert not CronJob.objects.exists()


def test_it_is_said_aloud(visits: Visits) -> None:
    page = visits.begin(client_with("add_cronjob"))
    page.goto(ADD)

    fill_in(page, Cron_expression="*/5 * * * *")

    said = page.get_by_role("status").filter(has_text=re.compile("every 5 minutes", re.IGNORECASE))
    expect(said).to_have_count(1)


def test_a_shortcut_fills_in_the_expression(visits: Visits) -> None:
    page = visits.begin(client_with("add_cronjob"))
    page.goto(ADD)

    shortcuts = page.get_by_role("group", name="Common expressions")
    shortcuts.get_by_role("button", name="At 06:00 every day").click()

    expect(page.get_by_label("Cron expression:")).to_have_value("0 6 * * *")
    expect(page.get_by_role("table", name="Next runs")).to_be_visible()


def test_the_payload_of_a_task_can_be_begun_by_a_button(visits: Visits) -> None:
    page = visits.begin(client_with("add_cronjob"))
    page.goto(ADD)

    fill_in(page, Task=TASK)
    takes = page.get_by_text("send_newsletter(user_id: int, subject: str = 'News')").first
    expect(takes).to_be_visible()
    page.get_by_role("button", name="Use as payload").click()

    expect(page.get_by_label("Payload:")).to_have_value('{"user_id": 0}')


def test_check_explains_and_saves_nothing(visits: Visits, scripting: bool) -> None:
    page = visits.begin(client_with("add_cronjob"), java_script_enabled=scripting)
    page.goto(ADD)

    fill_in(page, Job_id="newsletter", Task=TASK, Payload='{"user_id": 7}')
    fill_in(page, Cron_expression="30 6 * * *", Time_zone="Europe/Berlin")
    page.get_by_role("button", name="Check").click()

    expect(page.get_by_text("No mistakes found. Nothing is saved yet.")).to_be_visible()
    expect(page.get_by_text("At 06:30 every day").first).to_be_visible()
    expect(page.get_by_role("table", name="Next runs").get_by_role("row")).to_have_count(6)
    expect(page.get_by_text("send_newsletter(user_id: int").first).to_be_visible()
    assert not CronJob.objects.exists()


@pytest.mark.parametrize(
    "label, value, message",
    [
        ("Cron_expression", "99 * * * *", "99"),
        ("Cron_expression", "0 0 31 2 *", "31"),
        ("Time_zone", "Europe/Nowhere", "Europe/Nowhere"),
        ("Task", "os.system", "os.system"),
        ("Payload", '["user_id", 7]', "object"),
    ],
)
def test_a_mistake_is_told_at_its_field(
    visits: Visits, scripting: bool, label: str, value: str, message: str
) -> None:
    page = visits.begin(client_with("add_cronjob"), java_script_enabled=scripting)
    page.goto(ADD)

    fill_in(page, Job_id="newsletter", Task=TASK, Payload='{"user_id": 7}')
    fill_in(page, Cron_expression="30 6 * * *")
    fill_in(page, **{label: value})
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_text("Please correct the error below.")).to_be_visible()
    field = page.get_by_label(f"{label.replace('_', ' ')}:", exact=True)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile(re.escape(message)))
    assert not CronJob.objects.exists()


def test_what_is_saved_is_listed(visits: Visits, scripting: bool) -> None:
    page = visits.begin(client_with("add_cronjob", "view_cronjob"), java_script_enabled=scripting)
    page.goto(ADD)

    fill_in(page, Job_id="newsletter", Task=TASK, Payload='{"user_id": 7}')
    fill_in(page, Cron_expression="30 6 * * *", Time_zone="Europe/Berlin")
    page.get_by_role("button", name="Save", exact=True).click()

    row = page.get_by_role("row").filter(has_text="newsletter")
    expect(row).to_contain_text("At 06:30 every day")
    job = CronJob.objects.get()
    assert (job.job_id, job.time_zone, job.payload) == (
        "newsletter",
        "Europe/Berlin",
        {"user_id": 7},
    )
