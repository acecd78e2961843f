"""A form that was open while somebody else paused or resumed the job: it undoes neither."""

from __future__ import annotations

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from django_dyncron.models import CronJob
from django_dyncron.pausing import pause, resume
from tests.django.admin_pages import JOBS, a_job, client_with, form_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> Client:
    return client_with("view_cronjob", "add_cronjob", "change_cronjob", "pause_cronjob", name="ann")


def open_form(client: Client, address: str) -> dict[str, str]:
    """Return what a browser sends back of what the page says the form began with."""
    page = client.get(address).content.decode()
    inputs = re.findall(r'<input type="hidden" name="(initial-is_active)" value="([^"]*)"', page)
    assert len(inputs) == 1
    return dict(inputs)


def posted(began_with: dict[str, str], *, is_active: bool, **values: str) -> dict[str, str]:
    data: dict[str, str] = form_data(**began_with, **values)
    return data if is_active else {name: data[name] for name in data if name != "is_active"}


def in_row() -> tuple[bool, str, str]:
    job = CronJob.objects.get()
    return job.is_active, job.pause_reason, job.description


def test_a_pause_meanwhile_stays_with_its_reason(ann: Client) -> None:
    change = f"{JOBS}{a_job().pk}/change/"
    began_with = open_form(ann, change)
    pause(CronJob.objects.all(), "incident")

    data = posted(began_with, is_active=True, description="typo mended")
    assert ann.post(change, data).status_code == 302

    assert in_row() == (False, "incident", "typo mended")
    assert "Active" not in LogEntry.objects.get().change_message


def test_it_stays_after_a_mistake_was_mended_too(ann: Client) -> None:
    change = f"{JOBS}{a_job().pk}/change/"
    data = posted(open_form(ann, change), is_active=True, description="new words")
    pause(CronJob.objects.all(), "incident")

    answer = ann.post(change, data | {"cron_expression": "99 * * * *"})
    hidden = '<input type="hidden" name="initial-is_active" value="True"'
    assert hidden in answer.content.decode()
    assert ann.post(change, data).status_code == 302

    assert in_row() == (False, "incident", "new words")


def test_a_resumption_meanwhile_stays(ann: Client) -> None:
    change = f"{JOBS}{a_job(is_active=False, pause_reason='incident').pk}/change/"
    began_with = open_form(ann, change)
    resume(CronJob.objects.all())

    data = posted(began_with, is_active=False, description="new words")
    assert ann.post(change, data).status_code == 302

    assert in_row() == (True, "", "new words")


@pytest.mark.parametrize("to", [True, False])
def test_the_switch_still_switches(ann: Client, to: bool) -> None:
    change = f"{JOBS}{a_job(is_active=not to).pk}/change/"

    assert ann.post(change, posted(open_form(ann, change), is_active=to)).status_code == 302

    assert CronJob.objects.get().is_active is to


@pytest.mark.parametrize("to", [True, False])
def test_a_client_that_tells_only_what_it_wants_gets_it(ann: Client, to: bool) -> None:
    change = f"{JOBS}{a_job(is_active=not to).pk}/change/"

    assert ann.post(change, posted({}, is_active=to)).status_code == 302

    assert CronJob.objects.get().is_active is to


def test_a_copy_of_a_paused_job_is_added_as_shown(ann: Client) -> None:
    add = f"{JOBS}add/?_copy_of={a_job(is_active=False).pk}"
    began_with = open_form(ann, add)
    assert began_with == {"initial-is_active": "False"}

    assert ann.post(add, posted(began_with, is_active=False, job_id="copy")).status_code == 302

    assert not CronJob.objects.get(job_id="copy").is_active
