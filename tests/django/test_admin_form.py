"""The form of a cron job: what it refuses, what it shows, and what it must not touch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.test import Client

from django_dyncron.models import CronJob
from tests.django.admin_pages import (
    ADD,
    JOBS,
    TASK,
    a_job,
    at,
    change,
    client_with,
    form_data,
    text_of,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor() -> Client:
    return client_with("view_cronjob", "add_cronjob", "change_cronjob", "pause_cronjob")


def test_a_job_is_saved_as_typed(editor: Client) -> None:
    answer = editor.post(ADD, form_data(time_zone="Europe/Berlin", queue="mail"))

    assert answer.status_code == 302
    job = CronJob.objects.get()
    assert (job.job_id, job.task_name, job.queue) == ("newsletter", TASK, "mail")
    assert (job.cron_expression, job.time_zone) == ("30 6 * * *", "Europe/Berlin")
    assert job.payload == {"user_id": 7}
    assert job.is_active


def test_an_empty_payload_is_an_empty_object(editor: Client) -> None:
    data = form_data(payload="", options="", task_name="tests.django.admin_pages.no_arguments")

    assert editor.post(ADD, data).status_code == 302
    job = CronJob.objects.get()
    assert (job.payload, job.options) == ({}, {})


@pytest.mark.parametrize(
    "typed, field, words",
    [
        ({"cron_expression": "99 * * * *"}, "cron_expression", "99"),
        ({"cron_expression": "0 0 31 2 *"}, "cron_expression", "never"),
        ({"cron_expression": ""}, "cron_expression", "required"),
        ({"cron_expression": "* * * * * *"}, "cron_expression", "five"),
        ({"time_zone": "Europe/Berlim"}, "time_zone", "Europe/Berlim"),
        ({"payload": '{"user_id": }'}, "payload", "line 1, column "),
        ({"payload": "[]"}, "payload", "object"),
        ({"payload": "[7]"}, "payload", "object"),
        ({"payload": '{"user_id": NaN}'}, "payload", "JSON"),
        ({"payload": '{"user": 7}'}, "payload", "user"),
        ({"payload": "{}"}, "payload", "user_id"),
        ({"task_name": "os.system"}, "task_name", "not a registered task"),
        ({"task_name": "shop.tasks.gone"}, "task_name", "not a registered task"),
        ({"enqueuer": "nobody"}, "enqueuer", "ENQUEUERS"),
        ({"options": "[1]"}, "options", "object"),
        ({"job_id": ""}, "job_id", "required"),
        ({"max_catch_up": "0"}, "max_catch_up", "1"),
        (
            {
                "starts_at_0": "2026-12-02",
                "starts_at_1": "00:00",
                "ends_at_0": "2026-12-01",
                "ends_at_1": "00:00",
            },
            "ends_at",
            "later",
        ),
    ],
)
def test_mistakes_are_named_once_at_their_field(
    editor: Client, typed: dict[str, str], field: str, words: str
) -> None:
    answer = editor.post(ADD, form_data(**typed))

    errors = answer.context["adminform"].form.errors
    assert list(errors) == [field]
    assert len(errors[field]) == 1
    assert words in errors[field][0]
    assert not CronJob.objects.exists()


def test_a_job_id_is_taken_once(editor: Client) -> None:
    a_job()

    answer = editor.post(ADD, form_data())

    assert answer.status_code == 200
    assert "already exists" in text_of(answer)
    assert CronJob.objects.count() == 1


@pytest.mark.parametrize(
    "setting",
    [
        {"ENQUEUER": "nowhere.Enqueuer"},
        {"ENQUEUER": "locl"},
        {"ENQUEUER": "tests.django.admin_pages.RaisingEnqueuer"},
        {"TICK_INTERVAL_SECONDS": "soon"},
    ],
)
def test_a_wrong_setting_is_said_above_the_form(
    editor: Client, settings: Any, setting: dict[str, str]
) -> None:
    settings.DYNCRON = setting

    answer = editor.post(ADD, form_data())

    assert list(answer.context["adminform"].form.errors) == ["__all__"]
    assert "cannot be checked" in text_of(answer)


@time_machine.travel(at("2026-10-30T12:00Z"), tick=False)
def test_check_explains_and_saves_nothing(editor: Client) -> None:
    data = form_data(cron_expression="30 1 * * *", time_zone="America/New_York", _check="Check")

    text = text_of(editor.post(ADD, data))

    assert not CronJob.objects.exists()
    assert "At 01:30 every day" in text
    assert "2026-10-31 01:30 EDT" in text
    assert "2026-10-31 05:30 UTC" in text
    assert "2026-11-01 01:30 EDT" in text
    assert "2026-11-01 05:30 UTC" in text
    assert "2026-11-02 01:30 EST" in text
    assert "2026-11-02 06:30 UTC" in text
    assert "2026-11-04 06:30 UTC" in text
    assert "2026-11-05 06:30 UTC" not in text
    assert "in 17 hours" in text
    assert "Nothing is saved yet." in text
    assert 'value="30 1 * * *"' in text


def test_check_names_mistakes_and_saves_nothing(editor: Client) -> None:
    job = a_job()

    answer = editor.post(change(job), form_data(cron_expression="99 * * * *", _check="Check"))

    assert list(answer.context["adminform"].form.errors) == ["cron_expression"]
    assert "Nothing is saved yet." not in text_of(answer)
    assert CronJob.objects.get().cron_expression == "30 6 * * *"


def test_check_of_an_edit_leaves_the_row_alone(editor: Client) -> None:
    job = a_job()

    text = text_of(editor.post(change(job), form_data(cron_expression="15 7 * * *", _check="")))

    assert "At 07:15 every day" in text
    assert CronJob.objects.get().cron_expression == "30 6 * * *"


def test_what_is_shown_beside_an_empty_expression_is_not_the_old_one(editor: Client) -> None:
    job = a_job()

    text = text_of(editor.post(change(job), form_data(cron_expression="")))

    assert "At 06:30" not in text


def test_surprises_are_noted_before_saving(editor: Client) -> None:
    text = text_of(editor.post(ADD, form_data(cron_expression="* 3 * * *", _check="Check")))

    assert 'class="dyncron-notice"' in text


@time_machine.travel(at("2026-11-30T12:00Z"), tick=False)
def test_the_change_page_lists_the_next_five_runs(editor: Client) -> None:
    text = text_of(editor.get(change(a_job(cron_expression="0 */6 * * *"))))

    for moment in ("11-30 18:00", "12-01 00:00", "12-01 06:00", "12-01 12:00", "12-01 18:00"):
        assert f"2026-{moment} UTC" in text
    assert "2026-12-02 00:00 UTC" not in text


def test_a_hashed_expression_is_explained_with_the_job_id(editor: Client) -> None:
    text = text_of(editor.post(ADD, form_data(cron_expression="H 4 * * *", _check="Check")))

    assert "Nothing is saved yet." in text
    assert text.count(" UTC</td>") == 5


def test_the_job_id_cannot_be_changed_later(editor: Client) -> None:
    job = a_job()

    assert editor.post(change(job), form_data(job_id="other")).status_code == 302
    assert CronJob.objects.get().job_id == "newsletter"


def test_a_form_left_open_across_a_run_does_not_touch_the_scheduler_columns(
    editor: Client,
) -> None:
    job = a_job()
    editor.get(change(job))
    CronJob.objects.filter(pk=job.pk).update(
        plan_from=None,
        next_run_at=at("2026-12-02T06:30Z"),
        last_run_at=at("2026-12-01T06:30Z"),
        last_error="OSError: disk full",
        planned_cron_expression="30 6 * * *",
        planned_time_zone="",
        planned_dst_gap="run_after",
        planned_dst_fold="first",
        planned_in_zone="UTC",
    )

    assert editor.post(change(job), form_data(description="new words")).status_code == 302

    job = CronJob.objects.get()
    assert job.description == "new words"
    assert job.next_run_at == job.due_at == at("2026-12-02T06:30Z")
    assert job.last_run_at == at("2026-12-01T06:30Z")
    assert job.last_error == "OSError: disk full"
    assert job.plan_from is None


def test_resuming_by_the_form_counts_from_now(editor: Client) -> None:
    job = a_job(is_active=False)
    CronJob.objects.filter(pk=job.pk).update(plan_from=at("2026-01-01T00:00Z"))
    began = datetime.now(UTC)

    assert editor.post(change(job), form_data()).status_code == 302

    resumed_from = CronJob.objects.get().plan_from
    assert resumed_from is not None
    assert abs((resumed_from - began).total_seconds()) < 60


def test_a_deleted_job_is_not_brought_back_by_its_form(editor: Client) -> None:
    job = a_job()
    CronJob.objects.all().delete()

    answer = editor.post(change(job), form_data(), follow=True)

    assert "Perhaps it was deleted?" in text_of(answer)
    assert not CronJob.objects.exists()


def test_pages_bring_no_inline_script_or_style(editor: Client) -> None:
    job = a_job(cron_expression="* 3 * * *")
    for address in (ADD, change(job), JOBS):
        text = text_of(editor.get(address))
        assert "style=" not in text
        assert "<style" not in text
        assert "onclick=" not in text
        assert all("src=" in tag.split(">")[0] for tag in text.split("<script")[1:])


def test_what_may_surprise_is_said_in_the_panel_and_when_it_is_saved(
    editor: Client, settings: Any
) -> None:
    settings.DYNCRON = {"ENQUEUER": "django_dyncron.testing.RecordingEnqueuer"}
    data = form_data(overlap_policy="skip", max_run_seconds="600")

    checked = text_of(editor.post(ADD, data | {"_check": ""}))
    assert checked.count("counts as unfinished for 600 seconds") == 1
    saved = text_of(editor.post(ADD, data, follow=True))
    assert '<li class="warning">The queue system does not tell when a run ends' in saved
    assert CronJob.objects.get().overlap_policy == "skip"
