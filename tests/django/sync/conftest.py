"""A code base that declares what a test has it declare."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from django_dyncron import cron_job
from django_dyncron.registry import jobs

Declare = Callable[..., None]
Sync = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def _nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_jobs", {})


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Declare:
    """Declare a job as the next version of the code would, in place of its last one."""

    def make(job_id: str = "report", expression: str = "0 6 * * *", **values: Any) -> None:
        from tests.shop.tasks import build_report

        vars(jobs)["_jobs"].pop(job_id, None)
        values = {"payload": {"day": "today"}, **values}
        cron_job(expression, job_id=job_id, **values)(build_report)

    return make


@pytest.fixture
def undeclare() -> Callable[[str], None]:
    """Take a job out of the code."""

    def take_out(job_id: str = "report") -> None:
        del vars(jobs)["_jobs"][job_id]

    return take_out


@pytest.fixture
def sync() -> Sync:
    """Call the command; return its lines."""

    def call(*arguments: str, **options: Any) -> list[str]:
        output = StringIO()
        call_command("dyncron_sync", *arguments, stdout=output, no_color=True, **options)
        return output.getvalue().splitlines()

    return call
