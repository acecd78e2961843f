"""Everything can be done without a mouse, and it shows where one is."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from django_dyncron.models import CronJob, CronRun
from tests.django.admin_pages import JOBS, TASK, a_job, client_with

from .visits import Visits

pytestmark = pytest.mark.browser

_MOST_STOPS = 120


def tab_to(page: Page, target: Locator, key: str = "Tab") -> None:
    """Press Tab until the target has the focus, and see that it shows."""
    expect(target).to_be_visible()
    for _ in range(_MOST_STOPS):
        page.keyboard.press(key)
        if target.evaluate("element => element === document.activeElement"):
            assert shows_focus(target), target
            return
    raise AssertionError(f"Tab never came to {target}")


def shows_focus(target: Locator) -> bool:
    """Whether it looks different from how it does without the focus."""
    looks = """element => {
        const style = getComputedStyle(element);
        return [style.outlineStyle, style.boxShadow, style.borderColor, style.backgroundColor,
                style.color, style.textDecorationLine].join();
    }"""
    focused = target.evaluate(looks)
    target.evaluate("element => element.blur()")
    page = target.page
    page.wait_for_timeout(250)
    blurred = target.evaluate(looks)
    target.focus()
    return bool(focused != blurred)


def test_add_a_job(visits: Visits, scripting: bool) -> None:
    page = visits.begin(client_with("add_cronjob", "view_cronjob"), java_script_enabled=scripting)
    page.goto(f"{JOBS}add/")

    for label, text in {
        "Job id:": "newsletter",
        "Task:": TASK,
        "Payload:": '{"user_id": 7}',
        "Cron expression:": "30 6 * * *",
    }.items():
        tab_to(page, page.get_by_label(label, exact=True))
        page.keyboard.press("Control+A")
        page.keyboard.type(text)
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")

    expect(page.get_by_role("row").filter(has_text="newsletter")).to_be_visible()
    assert CronJob.objects.get().cron_expression == "30 6 * * *"


def test_a_shortcut_and_check(visits: Visits) -> None:
    page = visits.begin(client_with("add_cronjob"))
    page.goto(f"{JOBS}add/")

    tab_to(page, page.get_by_role("button", name="At 06:00 every day"))
    page.keyboard.press("Enter")
    expression = page.get_by_label("Cron expression:")
    expect(expression).to_have_value("0 6 * * *")
    expect(expression).to_be_focused()

    tab_to(page, page.get_by_role("button", name="Check"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Please correct the errors below.")).to_be_visible()


def test_run_pause_and_resume_on_the_form(visits: Visits, scripting: bool) -> None:
    job = a_job()
    page = visits.begin(
        client_with("view_cronjob", "run_cronjob", "pause_cronjob"),
        java_script_enabled=scripting,
    )
    page.goto(f"{JOBS}{job.pk}/change/")

    tab_to(page, page.get_by_role("button", name="Run now"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 run was asked for.")).to_be_visible()
    assert CronRun.objects.count() == 1

    tab_to(page, page.get_by_role("button", name="Pause", exact=True))
    page.keyboard.press("Space")
    expect(page.get_by_label("Reason:")).to_be_focused()
    page.keyboard.type("deploy")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Paused 1 cron job.")).to_be_visible()

    tab_to(page, page.get_by_role("button", name="Resume", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Resumed 1 cron job")).to_be_visible()
    job.refresh_from_db()
    assert job.is_active


def test_pause_from_the_list(visits: Visits, scripting: bool) -> None:
    a_job()
    page = visits.begin(client_with("view_cronjob", "pause_cronjob"), java_script_enabled=scripting)
    page.goto(JOBS)

    row = page.get_by_role("row").filter(has_text="newsletter")
    tab_to(page, page.get_by_label("Action:"))
    page.keyboard.type("Pause selected")
    expect(page.get_by_label("Action:")).to_have_value("pause_jobs")
    go = page.get_by_role("button", name=re.compile("^(Go|Run)$"))
    tab_to(page, row.get_by_role("checkbox"))
    page.keyboard.press("Space")
    tab_to(page, go, "Shift+Tab")
    page.keyboard.press("Enter")
    page.get_by_label("Reason:").press("Enter")

    expect(page.get_by_text("Paused 1 cron job.")).to_be_visible()
    assert not CronJob.objects.get().is_active
