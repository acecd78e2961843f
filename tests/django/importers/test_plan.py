"""What an import makes of jobs that are there already, and of what comes in between."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from django_dyncron.models import CronJob, CronRun
from tests.django.importers.conftest import Import
from tests.importing.loading import drop_tables, load_tables

pytestmark = pytest.mark.django_db

RESTOCK = "tests.shop.tasks.restock"


def document(tmp_path: Path, *jobs: dict[str, Any]) -> str:
    file = tmp_path / "jobs.json"
    usual = {"task_name": RESTOCK, "cron_expression": "0 6 * * *"}
    document = {"format": "django-dyncron", "version": 1, "jobs": [usual | job for job in jobs]}
    file.write_text(json.dumps(document))
    return str(file)


def actions(report: dict[str, Any]) -> dict[str, str]:
    return {job["job_id"]: job["action"] for job in report["jobs"]}


def test_done_again_it_imports_nothing_twice(run_import: Import) -> None:
    load_tables("django_celery_beat")
    first = run_import("django-celery-beat")
    assert set(actions(first).values()) == {"create"}
    before = list(CronJob.objects.values())

    again = run_import("django-celery-beat", at="2026-12-01T09:00:00Z")

    assert set(actions(again).values()) == {"nothing"}
    assert list(CronJob.objects.values()) == before


def test_a_dry_run_writes_nothing(run_import: Import, tmp_path: Path) -> None:
    report = run_import("json", document(tmp_path, {"job_id": "nightly"}), dry_run=True)
    assert actions(report) == {"nightly": "create"}
    assert report["written"] is False
    assert not CronJob.objects.exists()


def test_an_imported_job_that_was_edited_stays_as_it_is(run_import: Import, tmp_path: Path) -> None:
    file = document(tmp_path, {"job_id": "nightly"})
    run_import("json", file)
    CronJob.objects.update(cron_expression="0 7 * * *")
    report = run_import("json", file)
    assert not report["error"]
    assert actions(report) == {"nightly": "keep"}
    assert report["jobs"][0]["changed"] == ["cron_expression"]
    assert CronJob.objects.get().cron_expression == "0 7 * * *"


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


def test_two_entries_of_one_id(run_import: Import, tmp_path: Path) -> None:
    report = run_import("json", document(tmp_path, {"job_id": "a"}, {"job_id": "a"}))
    assert actions(report) == {"a": "refuse"}
    assert report["jobs"][0]["faults"] == {"job_id": ["2 entries of the source have it."]}
    assert not CronJob.objects.exists()


def test_all_or_nothing(
    run_import: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of the jobs has just been made by somebody else."""
    save = CronJob.save

    def save_or_clash(job: CronJob, **options: Any) -> None:
        if job.job_id == "c":
            raise IntegrityError("it is there")
        save(job, **options)

    monkeypatch.setattr(CronJob, "save", save_or_clash)
    report = run_import("json", document(tmp_path, *({"job_id": each} for each in "abc")))
    assert "at the same moment; nothing was imported" in report["error"]
    assert not CronJob.objects.exists()


def test_disabled(run_import: Import, tmp_path: Path) -> None:
    file = document(
        tmp_path,
        {"job_id": "on"},
        {"job_id": "off", "is_active": False, "pause_reason": "Summer."},
    )
    run_import("json", file, disabled=True)
    reasons = dict(CronJob.objects.filter(is_active=False).values_list("job_id", "pause_reason"))
    assert reasons == {"on": "Imported from JSON, not switched on.", "off": "Summer."}


@pytest.mark.django_db(transaction=True)
def test_nothing_of_the_past_is_run(run_import: Import) -> None:
    """Neither what ran long ago, nor what is overdue where it comes from."""
    tables = load_tables("django_celery_beat")
    try:
        run_import("django-celery-beat", at=datetime.now(UTC).replace(second=30).isoformat())
    finally:
        drop_tables(tables)
    jobs = CronJob.objects.exclude(job_id__startswith="every minute")
    assert jobs.filter(last_run_at__isnull=False).count() >= 4
    CronJob.objects.exclude(pk__in=jobs).delete()
    before = datetime.now(UTC)
    call_command("run_dyncron", once=True, enqueuer="tests.django.importers.queues.NoOptions")
    assert not CronRun.objects.filter(scheduled_for__lt=before).exists()


def test_the_report_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = document(tmp_path, {"job_id": "nightly", "payload": {"count": 1}})
    call_command("dyncron_import", "json", file, dry_run=True)
    told = capsys.readouterr().out
    assert "new      nightly: 0 6 * * *\n         after:  " in told
    assert told.endswith("JSON: 1 new. A dry run: nothing was written.\n")


def test_the_report_of_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    load_tables("django_celery_beat")
    names = ["in the gap, Berlin", "every hour, New York", "Friday the 13th"]
    with time_machine.travel("2026-12-01T00:00:30Z", tick=False):
        call_command("dyncron_import", "django-celery-beat", only=names)
    told = capsys.readouterr().out
    assert "! Clocks change on 2027-11-07: here it also runs 2027-11-07T06:30Z" in told
    assert "! Clocks change on 2027-03-28: before 2027-03-28T01:30Z; here 2027-03-28T01:00Z" in told
    assert told.startswith("LEFT OUT Friday the 13th\n")
    assert "'0 9 13 * 5' would run: 2026-12-04T08:00Z" in told
    assert "When clocks go back, Celery leaves out the hour that comes twice" in told
    assert told.endswith("django-celery-beat: 2 new, 1 left out.\n")


def test_names_do_not_reach_the_terminal_raw(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = document(tmp_path, {"job_id": "a\x1b[2J"})
    with pytest.raises(CommandError):
        call_command("dyncron_import", "json", file)
    assert "\x1b" not in capsys.readouterr().out
