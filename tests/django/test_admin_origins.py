"""What the admin says of cron jobs that the code or an import has made."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from django_dyncron.models import CronJob
from tests.django.admin_pages import JOBS, a_job, client_with, form_data

pytestmark = pytest.mark.django_db

DECLARED = "Declared in code. What you change here is kept"
VANISHED = "It was declared in code and no longer is."


@pytest.fixture
def editor() -> Client:
    return client_with("view_cronjob", "add_cronjob", "change_cronjob", "pause_cronjob")


def made(job_id: str, **values: Any) -> CronJob:
    job = a_job(job_id)
    CronJob.objects.filter(pk=job.pk).update(**values)
    return job


def page(client: Client, job: CronJob) -> str:
    answer = client.get(f"{JOBS}{job.pk}/change/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_form_says_who_made_a_job_unless_it_was_made_by_hand(editor: Client) -> None:
    assert "origin" not in page(editor, a_job("by-hand"))
    assert DECLARED in page(editor, made("declared", origin="code"))
    assert "Imported by dyncron_import." in page(editor, made("imported", origin="import"))
    vanished = page(editor, made("vanished", origin="code", has_vanished=True))
    assert VANISHED in vanished
    assert DECLARED not in vanished
    assert "origin" not in editor.get(f"{JOBS}add/").content.decode()


def test_saving_the_form_keeps_where_a_job_came_from(editor: Client) -> None:
    declaration = {"source": "shop", "fields": {"queue": "default"}}
    job = made("newsletter", origin="code", declaration=declaration, has_vanished=True)
    answer = editor.post(f"{JOBS}{job.pk}/change/", form_data(queue="slow", origin="import"))
    assert answer.status_code == 302
    job.refresh_from_db()
    assert (job.queue, job.origin, job.has_vanished) == ("slow", "code", True)
    assert job.declaration == declaration


def test_a_copy_is_made_by_hand(editor: Client) -> None:
    job = made("declared", origin="code", declaration={"source": "shop", "fields": {}})
    answer = editor.get(f"{JOBS}add/?_copy_of={job.pk}")
    assert DECLARED not in answer.content.decode()
    editor.post(f"{JOBS}add/", form_data(job_id="copy"))
    copy = CronJob.objects.get(job_id="copy")
    assert (copy.origin, copy.declaration) == ("", None)


def test_the_list_marks_what_is_no_longer_declared(editor: Client) -> None:
    made("declared", origin="code")
    assert "No longer declared</span>" not in editor.get(JOBS).content.decode()
    made("vanished", origin="code", has_vanished=True)
    assert editor.get(JOBS).content.decode().count("No longer declared</span>") == 1


def test_the_filter_is_there_once_something_is_not_made_by_hand(editor: Client) -> None:
    def titles() -> list[Any]:
        return [spec.title for spec in editor.get(JOBS).context["cl"].filter_specs]

    a_job("by-hand")
    assert "origin" not in titles()
    made("declared", origin="code")
    assert "origin" in titles()


@pytest.mark.parametrize(
    "query, found",
    [
        ("", ["by-hand", "declared", "imported", "vanished"]),
        ("?origin=hand", ["by-hand"]),
        ("?origin=code", ["declared", "vanished"]),
        ("?origin=import", ["imported"]),
        ("?origin=vanished", ["vanished"]),
        ("?origin=nonsense", []),
    ],
)
def test_the_list_is_filtered_by_origin(editor: Client, query: str, found: list[str]) -> None:
    a_job("by-hand")
    made("declared", origin="code")
    made("imported", origin="import")
    made("vanished", origin="code", has_vanished=True)
    listed = editor.get(f"{JOBS}{query}").context["cl"].result_list
    assert [job.job_id for job in listed] == found
