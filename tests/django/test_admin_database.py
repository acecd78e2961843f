"""The admin works in the scheduler's database, which need not be the default one."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from django.db.models.signals import pre_save
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_dyncron.models import CronJob
from tests.django.admin_pages import JOBS, RUNS, TASK, a_job, client_with, form_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def elsewhere(postgres_alias: str, settings: Any) -> str:
    settings.DYNCRON = {"DATABASE": postgres_alias}
    return postgres_alias


@pytest.fixture
def editor() -> Client:
    return client_with(
        "view_cronjob",
        "add_cronjob",
        "change_cronjob",
        "delete_cronjob",
        "pause_cronjob",
        "view_cronrun",
    )


def test_jobs_are_added_edited_paused_and_deleted_there(elsewhere: str, editor: Client) -> None:
    there = CronJob.objects.using(elsewhere)

    assert editor.post(f"{JOBS}add/", form_data()).status_code == 302
    job = there.get()
    change = f"{JOBS}{job.pk}/change/"
    assert editor.post(change, form_data(cron_expression="15 7 * * *")).status_code == 302
    assert there.get().cron_expression == "15 7 * * *"
    action = {"action": "pause_jobs", "_selected_action": [job.pk], "reason": ""}
    assert editor.post(JOBS, action, follow=True).status_code == 200
    assert not there.get().is_active
    assert "newsletter" in editor.get(JOBS).content.decode()
    assert editor.get(RUNS).status_code == 200
    assert editor.post(f"{JOBS}{job.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not there.exists()
    assert not CronJob.objects.using("default").exists()


def test_a_job_deleted_while_its_form_is_saved_is_not_brought_back(
    elsewhere: str, editor: Client
) -> None:
    there = CronJob.objects.using(elsewhere)
    job = there.create(job_id="newsletter", task_name=TASK, cron_expression="0 6 * * *")

    def delete_first(**_: object) -> None:
        there.all().delete()

    pre_save.connect(delete_first, sender=CronJob)
    try:
        answer = editor.post(f"{JOBS}{job.pk}/change/", form_data(), follow=True)
    finally:
        pre_save.disconnect(delete_first, sender=CronJob)

    assert "The cron job was deleted meanwhile." in answer.content.decode()
    assert not there.exists()


def test_a_job_id_is_taken_there_and_only_there(elsewhere: str, editor: Client) -> None:
    add = f"{JOBS}add/"
    CronJob.objects.using(elsewhere).create(
        job_id="newsletter", task_name=TASK, cron_expression="0 6 * * *"
    )
    a_job("taken-in-default")

    refused = editor.post(add, form_data())
    assert refused.status_code == 200
    errors = refused.context["adminform"].form.errors
    assert errors == {"job_id": ["Cron job with this Job id already exists."]}

    assert editor.post(add, form_data(job_id="taken-in-default")).status_code == 302
    there = CronJob.objects.using(elsewhere).values_list("job_id", flat=True)
    assert sorted(there) == ["newsletter", "taken-in-default"]


def test_a_form_needs_no_table_of_jobs_in_the_default_database(
    elsewhere: str, editor: Client
) -> None:
    with CaptureQueriesContext(connections["default"]) as captured:
        assert editor.post(f"{JOBS}add/", form_data()).status_code == 302
        job = CronJob.objects.using(elsewhere).get()
        assert editor.post(f"{JOBS}{job.pk}/change/", form_data(queue="mail")).status_code == 302

    assert len(captured) > 0
    assert [query["sql"] for query in captured if '"django_dyncron_' in query["sql"]] == []
