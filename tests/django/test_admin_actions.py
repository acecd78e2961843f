"""What one may do to cron jobs beside editing them, on the list and on the form."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from django_dyncron.admin import CronJobAdmin
from django_dyncron.models import CronJob, CronRun
from tests.django.admin_pages import JOBS, TASK, a_job, a_run, at, change, client_with, form_data

pytestmark = pytest.mark.django_db

FORM_ACTION = "CHANGE_FORM-action"


def on_list(client: Client, action: str, *jobs: CronJob, **data: Any) -> Any:
    keys = [job.pk for job in jobs]
    return client.post(JOBS, {"action": action, "_selected_action": keys, **data}, follow=True)


def on_form(client: Client, action: str, job: CronJob, **data: Any) -> Any:
    data = {FORM_ACTION: action, "_selected_action": job.pk, **data}
    return client.post(change(job), data, follow=True)


def buttons(client: Client, job: CronJob) -> list[str]:
    found = re.findall(r'name="CHANGE_FORM-action" value="(\w+)"', page(client.get(change(job))))
    return list(found)


def page(answer: Any) -> str:
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def log() -> list[tuple[str, str, str]]:
    columns = ("user__username", "object_repr", "change_message")
    entries: Any = LogEntry.objects.order_by("pk").values_list(*columns)
    return list(entries)


# --- run now --------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [on_list, on_form])
def test_a_run_is_asked_for_with_a_link_to_it(act: Any) -> None:
    runner = client_with("view_cronjob", "run_cronjob", "view_cronrun", name="ann")
    job = a_job(is_active=False)

    text = page(act(runner, "run_jobs", job))

    run = CronRun.objects.get()
    assert (run.job_id, run.kind, run.status, run.asked_by) == (
        "newsletter",
        "manual",
        "claimed",
        "ann",
    )
    assert "1 run was asked for. A scheduler starts it within 40 seconds" in text
    address = reverse("admin:django_dyncron_cronrun_change", args=[run.pk])
    assert f'<a href="{address}">newsletter</a>' in text
    assert log() == [("ann", "newsletter", "Asked to run now.")]
    assert CronJob.objects.values("is_active", "last_run_at").get() == {
        "is_active": False,
        "last_run_at": None,
    }


def test_there_is_no_link_for_those_who_may_not_see_runs(settings: Any) -> None:
    settings.DYNCRON = {"TICK_INTERVAL_SECONDS": 5}
    text = page(on_form(client_with("view_cronjob", "run_cronjob"), "run_jobs", a_job()))

    assert "A scheduler starts it within 15 seconds: newsletter." in text
    assert "cronrun" not in text


def test_a_job_that_cannot_be_run_says_why_and_the_others_run() -> None:
    runner = client_with("view_cronjob", "run_cronjob", name="ann")
    jobs = [a_job("<bad>", payload={"wrong": 1}), a_job("good")]

    text = page(on_list(runner, "run_jobs", *jobs))

    assert "“&lt;bad&gt;” cannot be run: " in text
    assert [run.job_id for run in CronRun.objects.all()] == ["good"]
    assert log() == [("ann", "good", "Asked to run now.")]


def test_a_slip_does_not_run_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_dyncron.admin.actions._MOST_RUNS", 2)
    jobs = [a_job(name) for name in ("a", "b", "c")]
    runner = client_with("view_cronjob", "run_cronjob")

    text = page(on_list(runner, "run_jobs", jobs[0], select_across="1"))

    assert "At most 2 cron jobs can be run at once. None was." in text
    assert not CronRun.objects.exists()


# --- pause and resume -----------------------------------------------------------------------------


@pytest.mark.parametrize("act", [on_list, on_form])
def test_a_page_asks_for_the_reason_of_a_pause(act: Any) -> None:
    pauser = client_with("view_cronjob", "pause_cronjob", name="grace")
    job = a_job("<i>nightly")

    text = page(act(pauser, "pause_jobs", job))
    assert CronJob.objects.get().is_active
    assert "<li>&lt;i&gt;nightly</li>" in text
    form = text[text.index('class="dyncron-pause"') :]
    kept = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
    assert kept.pop("csrfmiddlewaretoken")
    kind = "action" if act is on_list else FORM_ACTION
    assert kept == {kind: "pause_jobs", "_selected_action": str(job.pk)}

    text = page(act(pauser, "pause_jobs", job, reason="  The API is down.  "))
    assert "Paused 1 cron job." in text
    assert CronJob.objects.values_list("is_active", "pause_reason").get() == (
        False,
        "The API is down.",
    )
    assert log() == [("grace", "<i>nightly", "Paused: The API is down.")]


def test_all_jobs_of_a_filter_are_paused_without_naming_them_one_by_one() -> None:
    pauser = client_with("view_cronjob", "pause_cronjob")
    for number in range(12):
        a_job(f"mail-{number:02}", queue="mail")
    other = a_job("other")
    data = {"action": "pause_jobs", "_selected_action": [other.pk], "select_across": "1"}

    text = page(pauser.post(f"{JOBS}?queue=mail", data))
    assert "<li>mail-09</li><li>…</li>" in text
    assert 'name="select_across" value="1"' in text

    pauser.post(f"{JOBS}?queue=mail", data | {"reason": ""})
    active = CronJob.objects.filter(is_active=True).values_list("job_id", flat=True)
    assert list(active) == ["other"]


def test_a_reason_has_an_end() -> None:
    pauser = client_with("view_cronjob", "pause_cronjob")

    text = page(on_list(pauser, "pause_jobs", a_job(), reason="x" * 501))

    assert "at most 500 characters" in text
    assert CronJob.objects.get().is_active


def test_there_is_nothing_to_ask_when_nothing_is_to_be_paused() -> None:
    pauser = client_with("view_cronjob", "pause_cronjob")
    job = a_job(is_active=False, pause_reason="Before.")

    assert "Paused 0 cron jobs." in page(on_list(pauser, "pause_jobs", job))
    assert CronJob.objects.get().pause_reason == "Before."
    assert log() == []


def test_the_form_resumes_from_now_on_and_forgets_the_reason() -> None:
    pauser = client_with("view_cronjob", "pause_cronjob", name="grace")
    job = a_job(is_active=False, pause_reason="Why.")
    CronJob.objects.update(plan_from=None)

    text = page(on_form(pauser, "resume_jobs", job))

    assert "Resumed 1 cron job; slots that passed meanwhile are not made up." in text
    job.refresh_from_db()
    assert (job.is_active, job.pause_reason) == (True, "")
    assert job.plan_from is not None
    assert job.plan_from > at("2026-01-02T00:00Z")
    assert log() == [("grace", "newsletter", "Resumed.")]


def test_a_job_resumed_by_its_checkbox_forgets_the_reason_too() -> None:
    editor = client_with("view_cronjob", "change_cronjob", "pause_cronjob")
    job = a_job(is_active=False, pause_reason="Why.")

    assert editor.post(change(job), form_data(is_active="")).status_code == 302
    assert CronJob.objects.get().pause_reason == "Why."
    assert editor.post(change(job), form_data(is_active="on")).status_code == 302
    assert CronJob.objects.get().pause_reason == ""


# --- buttons of the form --------------------------------------------------------------------------


def test_the_form_has_the_buttons_that_one_may_press() -> None:
    active, paused = a_job("active"), a_job("paused", is_active=False)
    everything = client_with("view_cronjob", "run_cronjob", "pause_cronjob", name="everything")
    pauser = client_with("view_cronjob", "pause_cronjob", name="pauser")
    viewer = client_with("view_cronjob", name="viewer")

    assert buttons(everything, active) == ["run_jobs", "pause_jobs"]
    assert buttons(everything, paused) == ["run_jobs", "resume_jobs"]
    assert buttons(pauser, active) == ["pause_jobs"]
    assert buttons(viewer, active) == []


def test_enter_in_the_form_saves_and_takes_no_action() -> None:
    """The first button inside a form is the one that Enter presses."""
    editor = client_with("view_cronjob", "change_cronjob", "run_cronjob", "pause_cronjob")

    text = page(editor.get(change(a_job())))
    form = text[text.index('id="cronjob_form"') :]
    form = form[: form.index("</form>")]

    assert "CHANGE_FORM-action" not in form
    first = re.search(
        r'<(?:input|button)[^>]* type="submit"[^>]*>|<input type="submit"[^>]*>', form
    )
    assert first is not None
    assert 'name="_save"' in first.group()


@pytest.mark.parametrize("keys", [[], ["0"], ["1", "2"]])
def test_an_action_of_a_form_is_for_its_job_alone(keys: list[str]) -> None:
    pauser = client_with("view_cronjob", "pause_cronjob")
    job, other = a_job(), a_job("other")
    chosen = [str([0, job.pk, other.pk][int(key)]) for key in keys]
    data = {FORM_ACTION: "pause_jobs", "_selected_action": chosen, "reason": ""}

    assert pauser.post(change(job), data).status_code == 400
    assert CronJob.objects.filter(is_active=True).count() == 2


def test_an_action_takes_the_permission_to_look_besides_its_own() -> None:
    blind = client_with("pause_cronjob", "run_cronjob")
    job = a_job()
    data = {"_selected_action": job.pk, "reason": ""}

    for action in ("pause_jobs", "run_jobs"):
        assert blind.post(change(job), {FORM_ACTION: action, **data}).status_code == 403
        assert blind.post(JOBS, {"action": action, **data}).status_code == 403
    assert CronJob.objects.get().is_active
    assert not CronRun.objects.exists()


def test_actions_need_a_token() -> None:
    pauser = client_with("view_cronjob", "pause_cronjob")
    job = a_job()
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = pauser.cookies
    data = {"_selected_action": job.pk, "reason": ""}

    assert strict.post(change(job), {FORM_ACTION: "pause_jobs", **data}).status_code == 403
    assert strict.post(JOBS, {"action": "pause_jobs", **data}).status_code == 403
    assert strict.post(f"{JOBS}pause-everything/", {"reason": ""}).status_code == 403
    assert CronJob.objects.get().is_active


def test_an_action_on_a_job_that_is_gone_is_refused() -> None:
    pauser = client_with("view_cronjob", "pause_cronjob")
    job = a_job()
    CronJob.objects.all().delete()

    data = {FORM_ACTION: "pause_jobs", "_selected_action": job.pk, "reason": ""}
    assert pauser.post(change(job), data).status_code in (302, 400)


# --- duplicate ------------------------------------------------------------------------------------


def test_a_duplicate_begins_as_a_form_filled_in_but_for_the_name() -> None:
    adder = client_with("view_cronjob", "add_cronjob", "pause_cronjob")
    job = a_job(
        queue="mail",
        time_zone="Europe/Berlin",
        overlap_policy="skip",
        ends_at=at("2027-01-01T08:30Z"),
        last_error="boom",
    )

    answer = on_list(adder, "duplicate_job", job)

    assert answer.redirect_chain[-1][0] == f"{JOBS}add/?_copy_of={job.pk}"
    form = answer.context["adminform"].form
    assert form["job_id"].value() in (None, "")
    assert form["task_name"].value() == TASK
    assert form["payload"].value() == '{\n  "user_id": 7\n}'
    assert form["queue"].value() == "mail"
    assert form["time_zone"].value() == "Europe/Berlin"
    assert form["overlap_policy"].value() == "skip"
    assert form["is_active"].value() is True
    assert 'value="2027-01-01"' in page(answer)
    assert CronJob.objects.count() == 1
    link = f'<a href="{JOBS}add/?_copy_of={job.pk}">Duplicate</a>'
    assert link in page(adder.get(change(job)))


def test_a_form_to_duplicate_takes_what_one_may_see_and_add() -> None:
    job = a_job()
    address = f"{JOBS}add/?_copy_of={job.pk}"
    adder = client_with("add_cronjob", name="adder")
    viewer = client_with("view_cronjob", name="viewer")
    both = client_with("view_cronjob", "add_cronjob", name="both")

    assert adder.get(address).status_code == 403
    assert viewer.get(address).status_code == 403
    assert "Duplicate" not in page(viewer.get(change(job)))
    assert both.get(f"{JOBS}add/?_copy_of=none").status_code == 200
    assert "Select a single cron job to duplicate." in page(
        on_list(both, "duplicate_job", job, a_job("other"))
    )


class _WithSecretsAdmin(CronJobAdmin):
    def has_view_permission(self, request: HttpRequest, obj: CronJob | None = None) -> bool:
        return super().has_view_permission(request) and (obj is None or obj.job_id != "secret")

    has_change_permission = has_view_permission


def test_a_job_that_one_may_not_see_cannot_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin.site._registry[CronJob], "__class__", _WithSecretsAdmin)
    adder = client_with("view_cronjob", "add_cronjob")
    secret, plain = a_job("secret"), a_job("plain")

    assert adder.get(f"{JOBS}add/?_copy_of={secret.pk}").status_code == 403
    assert adder.get(f"{JOBS}add/?_copy_of={plain.pk}").status_code == 200


# --- delete ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["form", "list"])
def test_before_a_job_is_deleted_one_reads_what_becomes_of_its_runs(by: str) -> None:
    deleter = client_with("view_cronjob", "delete_cronjob")
    job = a_job()
    a_run("newsletter", "2026-11-30T09:00Z", "succeeded")
    in_hand = {"lease_until": at("2026-11-30T10:01Z")}
    a_run("newsletter", "2026-11-30T10:00Z", "running", **in_hand)
    a_run("newsletter", "2026-11-30T10:01Z", "claimed", **in_hand)
    a_run("other", "2026-11-30T10:00Z", "running", **in_hand)

    if by == "form":
        text = page(deleter.get(f"{JOBS}{job.pk}/delete/"))
    else:
        text = page(on_list(deleter, "delete_selected", job))
    assert "The history of runs stays." in text
    assert "2 runs are not finished: what has begun goes on, the rest is dropped." in text
    assert CronJob.objects.exists()

    if by == "form":
        text = page(deleter.post(f"{JOBS}{job.pk}/delete/", {"post": "yes"}, follow=True))
    else:
        text = page(on_list(deleter, "delete_selected", job, post="yes"))
    assert "The history of runs stays." not in text
    assert not CronJob.objects.exists()
    assert CronRun.objects.filter(job_id="newsletter").count() == 3


def test_where_no_run_is_in_hand_none_is_spoken_of() -> None:
    deleter = client_with("view_cronjob", "delete_cronjob")

    text = page(deleter.get(f"{JOBS}{a_job().pk}/delete/"))

    assert "The history of runs stays." in text
    assert "not finished" not in text
