"""The rules a form and ``full_clean`` share, apart from the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from django_dyncron.forms import CronJobForm
from django_dyncron.job_checks import check_job, job_notices
from django_dyncron.models import CronJob
from django_dyncron.widgets import SuggestingInput
from tests.django.admin_pages import TASK, at, form_data

pytestmark = pytest.mark.django_db


def job(**values: Any) -> CronJob:
    fine = {
        "job_id": "newsletter",
        "task_name": TASK,
        "cron_expression": "30 6 * * *",
        "payload": {"user_id": 7},
    }
    return CronJob(**(fine | values))


def test_a_job_that_is_fine_has_no_faults() -> None:
    assert check_job(job().definition()) == {}
    job().full_clean()


@pytest.mark.parametrize(
    "values, field",
    [
        ({"cron_expression": "99 * * * *"}, "cron_expression"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"dst_gap": "jump"}, "dst_gap"),
        ({"task_name": "os.system"}, "task_name"),
        ({"payload": {"user": 7}}, "payload"),
        ({"payload": []}, "payload"),
        ({"payload": [7]}, "payload"),
        ({"options": []}, "options"),
        ({"catch_up_window_seconds": 0}, "catch_up_window_seconds"),
        ({"catch_up_window_seconds": 59}, "catch_up_window_seconds"),
        ({"enqueuer": "nowhere"}, "enqueuer"),
        ({"enqueuer": " default"}, "enqueuer"),
        ({"task_name": f" {TASK}"}, "task_name"),
        ({"queue": " mail"}, "queue"),
        ({"queue": "ma\u200bil"}, "queue"),
        ({"job_id": "news\nletter"}, "job_id"),
        ({"payload": {"user_id": [{"\ud800": 7}]}}, "payload"),
        ({"payload": {"user_id": "7\0"}}, "payload"),
        ({"options": {"priority": float("nan")}}, "options"),
        ({"options": {"tags": ["\0"]}}, "options"),
        ({"starts_at": at("2026-12-02T00:00Z"), "ends_at": at("2026-12-01T00:00Z")}, "ends_at"),
    ],
)
def test_full_clean_names_each_mistake_once(values: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        job(**values).full_clean()

    assert {name: len(texts) for name, texts in caught.value.message_dict.items()} == {field: 1}


def test_an_expression_may_fit_only_some_zones() -> None:
    # Half past two on the last Sunday of March, the hour that Berlin's clocks leave out.
    expression = "30 2 * 3 7L"

    assert check_job(job(cron_expression=expression, dst_gap="skip").definition()) == {}
    in_berlin = job(cron_expression=expression, dst_gap="skip", time_zone="Europe/Berlin")
    assert list(check_job(in_berlin.definition())) == ["cron_expression"]


def test_wrong_settings_are_no_fault_of_a_field(settings: Any) -> None:
    settings.DYNCRON = {"ENQUEUER": "nowhere.Enqueuer"}

    assert list(check_job(job().definition())) == [NON_FIELD_ERRORS]


def test_a_named_enqueuer_is_the_one_that_is_asked(settings: Any) -> None:
    settings.DYNCRON = {"ENQUEUERS": {"odd": "tests.django.admin_pages.RaisingEnqueuer"}}

    assert check_job(job().definition()) == {}
    assert "boom" in check_job(job(enqueuer="odd").definition())[NON_FIELD_ERRORS][0]
    assert list(check_job(job(enqueuer="even").definition())) == ["enqueuer"]


def test_a_wrong_enqueuer_is_named_beside_other_mistakes() -> None:
    form = CronJobForm(form_data(enqueuer="even", task_name="", payload="[1]"))

    assert sorted(form.errors) == ["enqueuer", "payload", "task_name"]


def test_a_form_takes_spaces_off_names() -> None:
    typed = {"job_id": " news ", "task_name": f" {TASK} ", "queue": "  mail\u00a0", "enqueuer": " "}
    form = CronJobForm(form_data(**typed))

    assert form.errors == {}
    assert {name: form.cleaned_data[name] for name in typed} == {
        "job_id": "news",
        "task_name": TASK,
        "queue": "mail",
        "enqueuer": "",
    }


def test_a_text_of_any_script_may_be_in_a_payload() -> None:
    assert check_job(job(payload={"user_id": "Ł \\u0000 😀\n"}).definition()) == {}


def test_skipping_overlaps_is_remarked_on_where_nobody_tells_of_the_end(settings: Any) -> None:
    settings.DYNCRON = {
        "ENQUEUERS": {"far": "django_dyncron.testing.RecordingEnqueuer", "odd": "nowhere.Odd"}
    }
    careful = {"overlap_policy": "skip", "max_run_seconds": 600}

    assert job_notices(job(enqueuer="far").definition()) == []
    assert job_notices(job(**careful).definition()) == []
    assert job_notices(job(enqueuer="odd", **careful).definition()) == []
    (notice,) = job_notices(job(enqueuer="far", **careful).definition())
    assert "counts as unfinished for 600 seconds" in notice


def test_a_fault_of_a_field_that_a_form_lacks_is_shown_above_it() -> None:
    class Shortened(CronJobForm):
        class Meta(CronJobForm.Meta):
            fields = ("cron_expression", "payload")

    form = Shortened(form_data(), instance=job(task_name="os.system"))

    assert list(form.errors) == [NON_FIELD_ERRORS]
    assert "os.system" in form.non_field_errors()[0]


def test_a_payload_is_shown_as_readable_json() -> None:
    html = str(CronJobForm(instance=job(payload={"name": "Ł", "tags": [1]}))["payload"])

    assert "{\n  &quot;name&quot;: &quot;Ł&quot;," in html


def test_what_was_typed_wrong_is_shown_again_as_typed() -> None:
    form = CronJobForm(form_data(payload='{"user_id": '))

    assert not form.is_valid()
    assert "{&quot;user_id&quot;: </textarea>" in str(form["payload"])


def test_suggestions_are_escaped_and_read_each_time() -> None:
    names = ["b"]
    field = forms.CharField(widget=SuggestingInput(lambda: names))
    form = type("Form", (forms.Form,), {"field": field})()
    names.append("<a>")

    assert str(form["field"]) == (
        '<input type="text" name="field" required id="id_field" list="id_field_suggestions">'
        '<datalist id="id_field_suggestions">'
        '<option value="&lt;a&gt;"><option value="b"></datalist>'
    )
