"""What an import makes of jobs that are there already."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from django_dyncron.models import CronJob
from tests.django.importers.conftest import RESTOCK, Import, actions, document
from tests.importing.loading import load_tables

pytestmark = pytest.mark.django_db


def test_done_again_it_imports_nothing_twice(run_import: Import) -> None:
    load_tables("django_celery_beat")
    first = run_import("django-celery-beat")
    assert set(actions(first).values()) == {"create"}
    before = list(CronJob.objects.values())

    again = run_import("django-celery-beat", at="2026-12-01T09:00:00Z")

    assert set(actions(again).values()) == {"nothing"}
    assert list(CronJob.objects.values()) == before


def test_what_was_to_run_once_does_not_run_again(run_import: Import) -> None:
    """Its date is the first that comes, so that it would be another each day."""
    load_tables("django_celery_beat")
    run_import("django-celery-beat", only=["once"])
    for options in ({}, {"update": True}):
        later = run_import(
            "django-celery-beat", only=["once"], at="2026-12-02T09:00:00Z", **options
        )
        assert actions(later) == {"once": "nothing"}
    assert CronJob.objects.get().starts_at == datetime(2026, 12, 1, 17, tzinfo=UTC)


def test_what_is_to_run_once_is_moved_with_its_expression(run_import: Import) -> None:
    load_tables("django_celery_beat")
    run_import("django-celery-beat", only=["once"])
    CronJob.objects.update(cron_expression="0 20 * * *")
    run_import("django-celery-beat", only=["once"], at="2026-12-02T09:00:00Z", update=True)
    job = CronJob.objects.get()
    assert job.cron_expression == "0 18 * * *"
    assert job.starts_at == datetime(2026, 12, 2, 17, tzinfo=UTC)


@pytest.mark.parametrize("value, action", [(1, "nothing"), (1.0, "nothing"), (True, "update")])
def test_one_is_not_true(run_import: Import, tmp_path: Path, value: object, action: str) -> None:
    run_import("json", document(tmp_path, {"job_id": "a", "payload": {"count": 1}}))
    file = document(tmp_path, {"job_id": "a", "payload": {"count": value}})
    assert actions(run_import("json", file, update=True)) == {"a": action}


def test_an_imported_job_that_was_edited_stays_as_it_is(run_import: Import, tmp_path: Path) -> None:
    file = document(tmp_path, {"job_id": "nightly"})
    run_import("json", file)
    CronJob.objects.update(cron_expression="0 7 * * *")
    report = run_import("json", file)
    assert not report["error"]
    assert actions(report) == {"nightly": "keep"}
    assert report["jobs"][0]["changed"] == ["cron_expression"]
    assert CronJob.objects.get().cron_expression == "0 7 * * *"


def test_a_job_imported_from_elsewhere_is_in_the_way(run_import: Import) -> None:
    load_tables("django_celery_beat")
    load_tables("django_q2")
    run_import("django-celery-beat", only=["once"])
    report = run_import("django-q2", only=["once"])
    assert actions(report) == {"once": "refuse"}
    assert "--prefix" in report["jobs"][0]["faults"]["job_id"][0]


def test_two_crontabs_with_a_command_of_one_name(run_import: Import, tmp_path: Path) -> None:
    task = "tests.shop.tasks.run_shell"
    for name, host in (("one", "east"), ("two", "west")):
        (tmp_path / name).write_text(f"0 1 * * * backup {host}\n")
    assert not run_import("crontab", str(tmp_path / "one"), task=task)["error"]
    report = run_import("crontab", str(tmp_path / "two"), task=task)
    assert actions(report) == {"backup": "refuse"}
    assert not run_import("crontab", str(tmp_path / "two"), task=task, prefix="west-")["error"]
    assert actions(run_import("crontab", str(tmp_path / "one"), task=task)) == {"backup": "nothing"}


def test_what_was_updated_is_remembered(run_import: Import, tmp_path: Path) -> None:
    run_import("json", document(tmp_path, {"job_id": "a"}))
    changed = document(tmp_path, {"job_id": "a", "cron_expression": "0 8 * * *"})
    assert actions(run_import("json", changed)) == {"a": "refuse"}
    assert actions(run_import("json", changed, update=True)) == {"a": "update"}
    CronJob.objects.update(cron_expression="0 9 * * *")
    assert actions(run_import("json", changed)) == {"a": "keep"}


def test_a_job_made_by_hand_is_in_the_way(run_import: Import, tmp_path: Path) -> None:
    CronJob.objects.create(job_id="nightly", task_name=RESTOCK, cron_expression="0 7 * * *")
    file = document(tmp_path, {"job_id": "nightly"}, {"job_id": "weekly"})

    report = run_import("json", file)
    assert actions(report) == {"nightly": "refuse", "weekly": "create"}
    assert report["error"].startswith("Nothing was imported")
    assert CronJob.objects.count() == 1

    assert actions(run_import("json", file, prefix="old:", dry_run=True)) == {
        "old:nightly": "create",
        "old:weekly": "create",
    }
    assert actions(run_import("json", file, skip_existing=True)) == {
        "nightly": "keep",
        "weekly": "create",
    }
    assert CronJob.objects.get(job_id="nightly").cron_expression == "0 7 * * *"


def test_an_update_leaves_alone_what_it_does_not_speak_of(
    run_import: Import, tmp_path: Path
) -> None:
    load_tables("django_celery_beat")
    CronJob.objects.create(
        job_id="disabled",
        task_name=RESTOCK,
        cron_expression="0 7 * * *",
        misfire_policy="skip",
        is_active=True,
    )
    report = run_import("django-celery-beat", only=["disabled"], update=True)
    assert actions(report) == {"disabled": "update"}
    job = CronJob.objects.get()
    assert job.cron_expression == "0 2 * * *"
    assert job.description == "Not before the new year."
    assert (job.misfire_policy, job.is_active, job.origin) == ("skip", True, "")
