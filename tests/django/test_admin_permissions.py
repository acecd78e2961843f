"""Who may do what to cron jobs in the admin, by whatever request."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.test import Client

from django_dyncron.models import CronJob, CronRun, Pause
from tests.django.admin_pages import JOBS, a_job, at, client_with, form_data

pytestmark = pytest.mark.django_db


def act(client: Client, action: str, *jobs: CronJob) -> str:
    data = {"action": action, "_selected_action": [job.pk for job in jobs], "reason": ""}
    answer = client.post(JOBS, data, follow=True)
    return answer.content.decode()


def choices(client: Client) -> list[str]:
    form = client.get(JOBS).context["action_form"]
    return [name for name, _ in form.fields["action"].choices if name] if form else []


def test_a_viewer_can_change_nothing() -> None:
    viewer = client_with("view_cronjob")
    job = a_job()
    change = f"{JOBS}{job.pk}/change/"
    page = viewer.get(change).content.decode()

    assert 'name="_save"' not in page
    assert 'name="_check"' not in page
    assert viewer.get(f"{JOBS}add/").status_code == 403
    assert viewer.post(f"{JOBS}add/", form_data(job_id="new")).status_code == 403
    assert viewer.post(change, form_data(queue="other")).status_code == 403
    assert viewer.post(change, form_data(queue="other", _check="")).status_code == 403
    assert viewer.post(f"{JOBS}{job.pk}/delete/", {"post": "yes"}).status_code == 403
    actions = ("run_jobs", "pause_jobs", "resume_jobs", "duplicate_job", "delete_selected")
    for action in actions:
        act(viewer, action, job)
        of_form = {"CHANGE_FORM-action": action, "_selected_action": job.pk, "reason": ""}
        assert viewer.post(change, of_form).status_code in (302, 403)
    for address in ("pause-everything/", "resume-everything/"):
        assert viewer.post(JOBS + address, {"reason": ""}).status_code == 403
    assert viewer.get(f"{JOBS}add/?_copy_of={job.pk}").status_code == 403

    assert choices(viewer) == []
    assert not CronRun.objects.exists()
    assert not Pause.objects.exists()
    assert CronJob.objects.filter(job_id="newsletter", queue="default", is_active=True).exists()
    assert not LogEntry.objects.exists()


def test_nobody_gets_in_without_a_permission() -> None:
    job = a_job()
    client = client_with()

    assert client.get(JOBS).status_code == 403
    assert client.get(f"{JOBS}{job.pk}/change/").status_code == 403


def test_pausing_takes_its_own_permission_and_no_other() -> None:
    job = a_job()
    editor = client_with("view_cronjob", "change_cronjob", name="editor")
    pauser = client_with("view_cronjob", "pause_cronjob", name="pauser")

    assert choices(editor) == []
    act(editor, "pause_jobs", job)
    assert CronJob.objects.get().is_active

    assert choices(pauser) == ["pause_jobs", "resume_jobs"]
    act(pauser, "run_jobs", job)
    assert not CronRun.objects.exists()
    assert "Paused 1 cron job." in act(pauser, "pause_jobs", job)
    assert not CronJob.objects.get().is_active
    assert pauser.post(f"{JOBS}{job.pk}/change/", form_data(queue="x")).status_code == 403


@pytest.mark.parametrize("was_active", [True, False])
def test_the_form_cannot_pause_without_that_permission(was_active: bool) -> None:
    editor = client_with("view_cronjob", "change_cronjob")
    job = a_job(is_active=was_active)
    data = form_data(queue="mail")
    if was_active:
        del data["is_active"]

    assert editor.post(f"{JOBS}{job.pk}/change/", data).status_code == 302

    saved = CronJob.objects.get()
    assert (saved.queue, saved.is_active) == ("mail", was_active)


@pytest.mark.parametrize("typed", [True, False])
def test_adding_without_that_permission_makes_an_active_job(typed: bool) -> None:
    """Whoever may add a job may have it run; only to hold up a job takes more."""
    adder = client_with("add_cronjob", "view_cronjob")
    data = form_data()
    if not typed:
        del data["is_active"]

    assert adder.post(f"{JOBS}add/", data).status_code == 302
    assert CronJob.objects.get().is_active


LONG_AGO = at("2026-01-01T00:00Z")
FAR_AHEAD = at("9000-01-01T00:00Z")


@pytest.mark.parametrize(
    "ends_at, typed, starts_at_then, ends_at_then",
    [
        (None, {"ends_at_0": "2026-01-01", "ends_at_1": "00:00:00"}, None, LONG_AGO),
        (LONG_AGO, {}, None, None),
        (None, {"starts_at_0": "9000-01-01", "starts_at_1": "00:00:00"}, FAR_AHEAD, None),
    ],
    ids=["end", "revive", "put-off"],
)
def test_whoever_may_change_a_job_may_set_any_dates(
    ends_at: datetime | None,
    typed: dict[str, str],
    starts_at_then: datetime | None,
    ends_at_then: datetime | None,
) -> None:
    editor = client_with("view_cronjob", "change_cronjob")
    job = a_job(ends_at=ends_at)

    assert editor.post(f"{JOBS}{job.pk}/change/", form_data(**typed)).status_code == 302

    saved = CronJob.objects.get()
    assert (saved.starts_at, saved.ends_at) == (starts_at_then, ends_at_then)
    assert saved.is_active


def test_actions_are_logged_with_the_actor() -> None:
    pauser = client_with("view_cronjob", "pause_cronjob", name="grace")
    jobs = [a_job("a"), a_job("b"), a_job("c", is_active=False)]

    assert "Paused 2 cron jobs." in act(pauser, "pause_jobs", *jobs)
    act(pauser, "resume_jobs", jobs[2])

    entries: Any = LogEntry.objects.order_by("pk").values_list(
        "user__username", "object_repr", "action_flag", "change_message"
    )
    assert list(entries) == [
        ("grace", "a", CHANGE, "Paused."),
        ("grace", "b", CHANGE, "Paused."),
        ("grace", "c", CHANGE, "Resumed."),
    ]


def test_resuming_fires_nothing_of_the_past() -> None:
    pauser = client_with("view_cronjob", "pause_cronjob")
    paused, running = a_job("paused", is_active=False), a_job("running")
    CronJob.objects.filter(pk=paused.pk).update(plan_from=None)
    CronJob.objects.filter(pk=running.pk).update(plan_from=at("2026-01-01T00:00Z"))

    assert "Resumed 1 cron job;" in act(pauser, "resume_jobs", paused, running)

    paused.refresh_from_db()
    running.refresh_from_db()
    assert paused.is_active
    assert paused.plan_from is not None
    assert paused.plan_from > at("2026-01-02T00:00Z")
    assert running.plan_from == at("2026-01-01T00:00Z")
