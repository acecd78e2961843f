"""``manage.py dyncron_prune``."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_dyncron.models import CronRun

pytestmark = pytest.mark.django_db


def add(days: float, status: str = "enqueued") -> None:
    CronRun.objects.create(
        id=uuid4(),
        job_id="report",
        task_name="shop.report",
        status=status,
        created_at=timezone.now() - timedelta(days=days),
    )


def call(**options: Any) -> str:
    output = StringIO()
    call_command("dyncron_prune", stdout=output, **options)
    return output.getvalue().strip()


def test_old_runs_go_and_the_unfinished_stay() -> None:
    for days in (1, 29, 31, 400):
        add(days)
    add(400, "claimed")
    add(400, "running")
    assert call(dry_run=True) == "2 runs would be deleted."
    assert CronRun.objects.count() == 6
    assert call() == "2 runs deleted."
    assert call(days=0.5) == "2 runs deleted."
    assert set(CronRun.objects.values_list("status", flat=True)) == {"claimed", "running"}


def test_more_than_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_dyncron.management.commands.dyncron_prune._AT_ONCE", 2)
    for _ in range(5):
        add(31)
    assert call() == "5 runs deleted."


def test_nothing_is_deleted_by_mistake(settings: Any) -> None:
    add(400)
    settings.DYNCRON = {"RUN_RETENTION_DAYS": None}
    with pytest.raises(CommandError, match="RUN_RETENTION_DAYS is None"):
        call()
    for days in (-1.0, 36_601.0, 1e300, float("nan"), float("inf")):
        with pytest.raises(CommandError, match=r"^--days \S+: use 0 to 36600\.$"):
            call(days=days)
    with pytest.raises(CommandError, match='is "nowhere", which DATABASES does not have'):
        call(database="nowhere")
    assert CronRun.objects.count() == 1
