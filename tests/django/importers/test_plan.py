"""What an import does as a whole, and what its report tells of it."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from django_dyncron.importers.comparing import Comparison, compare
from django_dyncron.models import CronJob, CronRun
from django_dyncron.testing import tick_at
from tests.django.importers.conftest import Import, actions, document
from tests.importing.loading import drop_tables, load_tables

pytestmark = pytest.mark.django_db


def test_a_pattern_that_names_nothing(run_import: Import, tmp_path: Path) -> None:
    file = document(tmp_path, {"job_id": "report"})
    report = run_import("json", file, only=["rep*", "reprot-*"])
    assert report["error"] == "Nothing was imported: no name is like 'reprot-*', for --only."
    assert not CronJob.objects.exists()


def test_a_pattern_that_names_nothing_in_a_file_with_faults(
    run_import: Import, tmp_path: Path
) -> None:
    file = document(tmp_path, {"job_id": "report"}, {"job_id": "broken", "queue": 7})
    report = run_import("json", file, only=["zz*"], skip_invalid=True)
    assert report["error"] == (
        "Nothing was imported: no name is like 'zz*', for --only. "
        "Not readable: Job 2 (broken): queue must be a text, not int."
    )
    report = run_import("json", file, only=["broken"])
    assert report["faults"] == ["Job 2 (broken): queue must be a text, not int."]
    assert not CronJob.objects.exists()


@pytest.mark.parametrize(
    "jobs",
    [
        [{"job_id": "a", "queue": 7}],
        [{"job_id": "a", "task_name": "os.system"}],
        [{"job_id": "a", "task_name": "os.system"}, {"job_id": "b", "queue": 7}],
    ],
    ids=["unreadable", "refused", "both"],
)
def test_nothing_is_left_when_all_that_cannot_be_is_skipped(
    run_import: Import, tmp_path: Path, jobs: list[dict[str, Any]]
) -> None:
    report = run_import("json", document(tmp_path, *jobs), skip_invalid=True)
    assert report["error"] == "Nothing was imported: mend what is refused."
    assert report["written"] is False
    assert not CronJob.objects.exists()


def test_what_is_there_already_is_no_failure(run_import: Import, tmp_path: Path) -> None:
    jobs = [{"job_id": "a"}, {"job_id": "b", "queue": 7}]
    for action in ("create", "nothing"):
        report = run_import("json", document(tmp_path, *jobs), skip_invalid=True)
        assert not report["error"]
        assert actions(report) == {"a": action}


@pytest.mark.parametrize("instant", ["2026-12-01T00:00:30Z", "2027-03-28T00:40:00Z"])
def test_a_scheduler_runs_what_the_report_tells(run_import: Import, instant: str) -> None:
    load_tables("django_celery_beat")
    report = run_import("django-celery-beat", at=instant)
    for told in report["jobs"]:
        job = CronJob.objects.get(job_id=told["job_id"])
        job.is_active = True
        for moment in told["after"]:
            assert [run.scheduled_for for run in tick_at(moment, [job])] == [
                datetime.fromisoformat(moment)
            ], told["job_id"]


def test_a_first_date_before_all_calendars(run_import: Import, tmp_path: Path) -> None:
    file = document(tmp_path, {"job_id": "a", "starts_at": "0001-01-01T00:00Z"})
    assert run_import("json", file)["jobs"][0]["after"][0] == "2026-12-01T06:00Z"


@pytest.mark.django_db(transaction=True)
def test_no_scheduler_waits_while_the_report_is_worked_out(
    run_import: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    within = []

    def compare_and_tell(*args: Any) -> Comparison:
        within.append(connection.in_atomic_block)
        return compare(*args)

    monkeypatch.setattr("django_dyncron.importers.plan.compare", compare_and_tell)
    run_import("json", document(tmp_path, {"job_id": "a"}))
    assert within == [False]


def test_a_dry_run_asks_and_no_more(run_import: Import) -> None:
    load_tables("django_celery_beat")
    with CaptureQueriesContext(connection) as queries:
        run_import("django-celery-beat", dry_run=True)
    kinds = {query["sql"].split()[0] for query in queries}
    assert kinds == {"SELECT", "SAVEPOINT", "RELEASE"}
    assert not any("FOR UPDATE" in query["sql"] for query in queries)


def test_a_dry_run_writes_nothing(run_import: Import, tmp_path: Path) -> None:
    report = run_import("json", document(tmp_path, {"job_id": "nightly"}), dry_run=True)
    assert actions(report) == {"nightly": "create"}
    assert report["written"] is False
    assert not CronJob.objects.exists()


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


def test_a_line_of_the_report_tells_three_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    load_tables("django_celery_beat")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_celery_beat_crontabschedule SET timezone = 'Europe/Berlin'")
    with time_machine.travel("2026-12-01T00:00:30Z", tick=False):
        call_command("dyncron_import", "django-celery-beat", only=["every minute"])
    assert (
        "! Clocks change on 2027-10-31: here it also runs "
        "2027-10-31T01:00Z  2027-10-31T01:01Z  2027-10-31T01:02Z and 57 more\n"
    ) in capsys.readouterr().out


def test_a_terminal_that_lacks_a_letter(tmp_path: Path) -> None:
    written = io.BytesIO()
    with io.TextIOWrapper(written, encoding="ascii", write_through=True) as terminal:
        call_command(
            "dyncron_import", "json", document(tmp_path, {"job_id": "Lö"}), stdout=terminal
        )
        assert written.getvalue().startswith(b"new      L\\xf6: 0 6 * * *")
    assert CronJob.objects.get().job_id == "Lö"


def test_names_do_not_reach_the_terminal_raw(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = document(tmp_path, {"job_id": "a\x1b[2J"})
    with pytest.raises(CommandError):
        call_command("dyncron_import", "json", file)
    assert "\x1b" not in capsys.readouterr().out
