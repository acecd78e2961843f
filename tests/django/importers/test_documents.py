"""JSON and YAML documents, and that an export loses nothing."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_dyncron.exporters import write_json
from django_dyncron.importers import Choices, carry_out
from django_dyncron.importers.sources.documents import document_fields, read_json
from django_dyncron.models import CronJob
from tests.django.importers.conftest import Import

pytestmark = pytest.mark.django_db

RESTOCK = "tests.shop.tasks.restock"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
YAML = """
format: django-dyncron
version: 1
jobs:
  - job_id: nightly
    task_name: tests.shop.tasks.restock
    cron_expression: 0 6 * * *
    time_zone: Europe/Berlin
    payload: {count: 3}
    starts_at: 2027-01-01T00:00:00Z
    ends_at: "2027-06-01T00:00+02:00"
"""

texts = st.text(st.characters(exclude_categories=["C"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
moments = st.integers(1_790_000_000, 2_200_000_000).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC)
)
jobs = st.fixed_dictionaries(
    {
        "cron_expression": st.sampled_from(["0 6 * * *", "H H * * *", "@daily", "0 0 * * MON#1"]),
        "payload": st.fixed_dictionaries({}, optional={"count": values}),
    },
    optional={
        "time_zone": st.sampled_from(["", "UTC", "Asia/Tokyo"]),
        "queue": st.sampled_from(["default", "slow", "Ärger"]),
        "options": st.dictionaries(texts, values, max_size=2),
        "description": texts,
        "is_active": st.booleans(),
        "pause_reason": texts,
        "misfire_policy": st.sampled_from(["fire_once", "fire_all", "skip"]),
        "max_catch_up": st.integers(1, 10_000),
        "catch_up_window_seconds": st.none() | st.integers(60, 10**6),
        "overlap_policy": st.sampled_from(["allow", "skip"]),
        "max_run_seconds": st.integers(1, 10**6),
        "jitter_seconds": st.integers(0, 86_400),
        "delivery": st.sampled_from(["at_least_once", "at_most_once"]),
        "dst_gap": st.sampled_from(["run_after", "skip"]),
        "dst_fold": st.sampled_from(["first", "second", "both"]),
        "starts_at": st.none() | moments,
        "ends_at": st.none() | moments.map(lambda moment: moment.replace(year=2041)),
    },
)


def stored() -> list[dict[str, Any]]:
    return list(CronJob.objects.order_by("job_id").values(*document_fields()))


@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
@given(st.lists(jobs, max_size=4))
def test_an_export_imported_elsewhere_is_the_same(described: list[dict[str, Any]]) -> None:
    with transaction.atomic():
        for number, columns in enumerate(described):
            CronJob(job_id=f"job {number}", task_name=RESTOCK, **columns).save()
        before, document = stored(), write_json(CronJob.objects.all())
        CronJob.objects.all().delete()

        plan = carry_out(read_json(document), Choices(), NOW, "default")

        assert not plan.is_refused
        assert stored() == before
        transaction.set_rollback(True)


def test_every_column_that_people_write_is_in_it() -> None:
    written = {
        field.name
        for field in CronJob._meta.concrete_fields
        if field.editable and not field.primary_key
    }
    assert document_fields().keys() == written


def test_yaml(run_import: Import, tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(YAML)
    assert not run_import("yaml", str(tmp_path / "jobs.yaml"))["error"]
    job = CronJob.objects.get()
    assert (job.job_id, job.time_zone, job.payload) == ("nightly", "Europe/Berlin", {"count": 3})
    assert job.starts_at == datetime.fromisoformat("2027-01-01T00:00Z")
    assert job.ends_at == datetime.fromisoformat("2027-05-31T22:00Z")


def test_yaml_without_its_extra(
    run_import: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(
        sys.modules, "django_dyncron.importers.sources._yaml_loading", raising=False
    )
    (tmp_path / "jobs.yaml").write_text(YAML)
    error = run_import("yaml", str(tmp_path / "jobs.yaml"))["error"]
    assert "pip install 'django-dyncron[yaml]'" in error


def test_yaml_makes_no_objects(run_import: Import, tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text("!!python/object/apply:os.getcwd []")
    assert "no YAML of plain values" in run_import("yaml", str(tmp_path / "jobs.yaml"))["error"]


BOMB = "x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"x{n + 1}: &x{n + 1} [{', '.join([f'*x{n}'] * 10)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    "text, error",
    [
        (BOMB, "it holds more than 1,000,000 values"),
        ("a: &a [*a]", "an alias stands within what it stands for"),
        (
            YAML.replace("time_zone", "task_name"),
            "'task_name' stands twice in one mapping, in line",
        ),
        (YAML.replace("0 6 * * *", "*/5 * * * *"), "that begins with * or @ must be in quotes"),
        (YAML.replace("0 6 * * *", "@daily"), "that begins with * or @ must be in quotes"),
        ("? [1]\n: 2", "unhashable key"),
        ("jobs: [a, b\nversion: 1", "expected ',' or ']', but got ':', in line 2, column 8"),
        ("a: 'secret\n", "found unexpected end of stream, in line 2, column 1"),
        ("a: \x07", "special characters are not allowed"),
    ],
)
def test_what_yaml_is_refused(run_import: Import, tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "jobs.yaml").write_text(text)
    told = run_import("yaml", str(tmp_path / "jobs.yaml"))["error"]
    assert error in told
    assert told.startswith("This is no YAML of plain values: ")
    assert len(told.splitlines()) == 1
    assert "secret" not in told


def test_yaml_with_values_that_stand_for_many_jobs(run_import: Import, tmp_path: Path) -> None:
    text = (
        "format: django-dyncron\nversion: 1\njobs:\n"
        f"  - &usual {{job_id: a, task_name: {RESTOCK}, cron_expression: 0 6 * * *}}\n"
        "  - {<<: *usual, job_id: b}\n"
    )
    (tmp_path / "jobs.yaml").write_text(text)
    assert not run_import("yaml", str(tmp_path / "jobs.yaml"))["error"]
    assert dict(CronJob.objects.values_list("job_id", "task_name")) == {"a": RESTOCK, "b": RESTOCK}


@pytest.mark.parametrize(
    "text, error",
    [
        ("", "This is no JSON"),
        ("[" * 100_000, "This is no JSON"),
        ('{"version": 1, "version": 2}', "'version' stands twice in one object"),
        ("[]", 'an object with "format": "django-dyncron"'),
        ('{"format": "crontab"}', 'an object with "format": "django-dyncron"'),
        ('{"format": "django-dyncron", "version": 2}', "has version 2, and this release reads 1"),
        ('{"format": "django-dyncron", "version": true}', 'must have its "version", which is 1.'),
        ('{"format": "django-dyncron"}', 'must have its "version", which is 1.'),
        ('{"format": "django-dyncron", "version": 1}', 'must have a list of "jobs"'),
        (
            '{"format": "django-dyncron", "version": 1, "job": []}',
            "has 'job', which is not known. Did you mean \"jobs\"?",
        ),
    ],
)
def test_what_is_no_document(run_import: Import, tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "jobs.json").write_text(text)
    assert error in run_import("json", str(tmp_path / "jobs.json"))["error"]


@pytest.mark.parametrize(
    "columns, fault",
    [
        ({"job_id": 7}, "Job 1: job_id must be a text, not int."),
        ({"queues": "x"}, "Job 1 (a): 'queues' is no column of a job. Did you mean \"queue\"?"),
        ({"last_run_at": None}, "Job 1 (a): 'last_run_at' is no column of a job."),
        ({"is_active": "yes"}, "Job 1 (a): is_active must be true or false, not str."),
        ({"jitter_seconds": True}, "Job 1 (a): jitter_seconds must be a whole number, not bool."),
        ({"payload": [1]}, "Job 1 (a): payload must be an object, not list."),
        ({"payload": None}, "Job 1 (a): payload must be an object, not NoneType."),
        ({"starts_at": "2027-01-01"}, "with its offset, such as 2026-11-01T05:30Z."),
        ({"starts_at": "soon"}, "Job 1 (a): starts_at must be a moment such as"),
        ({"starts_at": "0001-01-01T00:00+14:00"}, "between the years 1 and 9999."),
        ({"description": "a\0b"}, "Job 1 (a): description must be a text without NUL"),
        ({"job_id": "\ud800"}, "Job 1 (?): job_id must be a text without NUL or half characters"),
    ],
)
def test_what_is_wrong_with_a_job(
    run_import: Import, tmp_path: Path, columns: dict[str, Any], fault: str
) -> None:
    job = {"job_id": "a", "task_name": RESTOCK, "cron_expression": "@daily", **columns}
    document = {"format": "django-dyncron", "version": 1, "jobs": [job, 5, {}]}
    (tmp_path / "jobs.json").write_text(json.dumps(document))
    report = run_import("json", str(tmp_path / "jobs.json"))
    first, *others = report["faults"]
    assert fault in first
    assert others == [
        "Job 2 is not an object.",
        "Job 3: job_id is missing.",
        "Job 3: task_name is missing.",
        "Job 3: cron_expression is missing.",
    ]
    assert not CronJob.objects.exists()


def export(*args: str, **options: Any) -> str:
    output = StringIO()
    call_command("dyncron_export", *args, stdout=output, **options)
    return output.getvalue()


def test_export_writes_what_is_not_the_default() -> None:
    CronJob.objects.create(
        job_id="nightly",
        task_name=RESTOCK,
        cron_expression="0 6 * * *",
        jitter_seconds=30,
        ends_at=datetime.fromisoformat("2027-01-01T00:00+01:00"),
    )
    assert json.loads(export()) == {
        "format": "django-dyncron",
        "version": 1,
        "jobs": [
            {
                "job_id": "nightly",
                "task_name": RESTOCK,
                "cron_expression": "0 6 * * *",
                "jitter_seconds": 30,
                "ends_at": "2026-12-31T23:00:00Z",
            }
        ],
    }


def test_export_of_some_jobs_into_a_file(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        CronJob.objects.create(job_id=name, task_name=RESTOCK, cron_expression="@daily")
    file = tmp_path / "jobs.json"
    assert export("c", "a", output=file) == ""
    assert [job["job_id"] for job in json.loads(file.read_text())["jobs"]] == ["a", "c"]
    with pytest.raises(CommandError, match='There is no cron job "bb"'):
        export("bb")
    with pytest.raises(CommandError, match="cannot be written"):
        export(output=tmp_path)
