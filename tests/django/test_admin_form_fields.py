"""What the fields of the form offer and how they are filled, beyond what they refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_dyncron import ITaskEnqueuer, background_task
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.models import CronJob
from tests.django.admin_pages import ADD, a_job, at, change, client_with, form_data, text_of

pytestmark = pytest.mark.django_db


@background_task(queue="reports")
def build_report() -> None:
    """Stand in for a task that suggests a queue."""


class NarrowEnqueuer(ITaskEnqueuer):
    """A queue system with two queues and no options."""

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        """Do nothing."""

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        if queue not in ("default", "reports"):
            raise EnqueueRefused(f"There is no queue {queue!r}.", field="queue")

    def check_options(self, options: Mapping[str, Any]) -> None:
        if options:
            raise EnqueueRefused(f"Unknown options: {', '.join(options)}.", field="options")


@pytest.fixture
def editor() -> Client:
    return client_with("view_cronjob", "add_cronjob", "change_cronjob", "pause_cronjob")


@pytest.mark.parametrize(
    "typed, field, words",
    [
        ({"queue": "mail"}, "queue", "There is no queue 'mail'."),
        ({"options": '{"priority": 7}'}, "options", "Unknown options: priority."),
    ],
)
def test_what_the_queue_system_refuses_is_said_at_its_field(
    editor: Client, settings: Any, typed: dict[str, str], field: str, words: str
) -> None:
    settings.DYNCRON = {"ENQUEUER": f"{__name__}.NarrowEnqueuer"}

    answer = editor.post(ADD, form_data(**typed))

    assert answer.context["adminform"].form.errors == {field: [words]}
    assert not CronJob.objects.exists()


@pytest.mark.parametrize(
    "typed, saved",
    [
        ({"task_name": f"{__name__}.build_report", "queue": ""}, "reports"),
        ({"task_name": f"{__name__}.build_report", "queue": "default"}, "default"),
        ({"task_name": "tests.django.admin_pages.no_arguments", "queue": ""}, "default"),
    ],
)
def test_an_empty_queue_is_the_one_that_the_task_suggests(
    editor: Client, typed: dict[str, str], saved: str
) -> None:
    assert editor.post(ADD, form_data(payload="{}", **typed)).status_code == 302
    assert CronJob.objects.get().queue == saved


def test_only_a_new_job_begins_without_a_queue(editor: Client) -> None:
    job = a_job(queue="mail")

    assert editor.get(ADD).context["adminform"].form["queue"].value() == ""
    assert editor.get(f"{ADD}?queue=mail").context["adminform"].form["queue"].value() == "mail"
    assert editor.get(change(job)).context["adminform"].form["queue"].value() == "mail"


def test_without_a_script_check_tells_what_the_task_takes(editor: Client) -> None:
    text = text_of(editor.post(ADD, form_data(payload="{}", _check="Check")))

    assert "<code>send_newsletter(user_id: int, subject: str = &#x27;News&#x27;)</code>" in text
    assert "<code>{&quot;user_id&quot;: 0}</code>" in text


def test_what_is_shown_beside_an_empty_task_is_not_the_old_one(editor: Client) -> None:
    text = text_of(editor.post(change(a_job()), form_data(task_name="")))

    assert "Type the name of a task" in text
    assert "<code>send_newsletter" not in text


@time_machine.travel(at("2026-11-30T12:00Z"), tick=False)
def test_common_expressions_and_likely_zones_are_suggested(editor: Client, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    settings.DYNCRON = {"TIME_ZONE": "Asia/Kolkata"}

    text = text_of(editor.get(ADD))

    assert '<option value="*/5 * * * *" label="*/5 * * * * – Every 5 minutes">' in text
    assert (
        '<button type="button" value="0 9 * * MON-FRI" data-fill="cron_expression">'
        "At 09:00, on Monday to Friday</button>"
    ) in text
    assert re.findall('<option value="[^"]*" label="([^"]*) [(](UTC.*?)[)]">', text)[:4] == [
        ("Asia/Kolkata", "UTC+05:30"),
        ("Europe/Berlin", "UTC+01:00"),
        ("UTC", "UTC+00:00"),
        ("Africa/Abidjan", "UTC+00:00"),
    ]
    assert '<option value="America/St_Johns" label="America/St_Johns (UTC-03:30)">' in text
    assert text.count('value="Europe/Berlin"') == 1


def test_a_form_costs_as_much_however_many_jobs_there_are(editor: Client) -> None:
    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            text_of(editor.get(address))
        return len(captured)

    first, *_others = [a_job(f"job-{number}") for number in range(10)]
    with_ten = [queries(ADD), queries(change(first))]
    for number in range(10, 100):
        a_job(f"job-{number}")

    assert [queries(ADD), queries(change(first))] == with_ten
