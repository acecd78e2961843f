"""An import as a user starts it, at a moment of the test's choice."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command

Import = Callable[..., dict[str, Any]]
"""Runs ``dyncron_import``, and returns its report; a refusal is under ``"error"``."""

NOW = "2026-12-01T00:00:30Z"
RESTOCK = "tests.shop.tasks.restock"


def document(tmp_path: Path, *jobs: dict[str, Any]) -> str:
    file = tmp_path / "jobs.json"
    usual = {"task_name": RESTOCK, "cron_expression": "0 6 * * *"}
    document = {"format": "django-dyncron", "version": 1, "jobs": [usual | job for job in jobs]}
    file.write_text(json.dumps(document))
    return str(file)


def actions(report: dict[str, Any]) -> dict[str, str]:
    return {job["job_id"]: job["action"] for job in report["jobs"]}


@pytest.fixture(autouse=True)
def _tasks(settings: Any) -> None:
    settings.DYNCRON = {"ALLOWED_TASKS": ["tests.shop.tasks.*"]}


@pytest.fixture
def run_import() -> Import:
    def run(*args: str, at: str = NOW, **options: Any) -> dict[str, Any]:
        output, error = StringIO(), ""
        with time_machine.travel(datetime.fromisoformat(at), tick=False):
            try:
                call_command("dyncron_import", *args, json=True, stdout=output, **options)
            except CommandError as refusal:
                error = str(refusal)
        report = json.loads(output.getvalue() or "{}")
        return {**report, "error": error, "by_name": _by_name(report)}

    return run


def _by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    entries = [*report.get("jobs", ()), *report.get("left_out", ())]
    return {entry["name"]: entry for entry in entries}
