"""Replicas and jobs as their scheduler leaves them, at noon, for tests of what is watched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from django_dyncron import __version__
from django_dyncron.core.claims import Horizon
from django_dyncron.core.tzdata import tzdata_version
from django_dyncron.health import reading
from django_dyncron.models import CronJob, Replica

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@contextmanager
def at_noon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let it be noon, by the database's clock and by this host's."""

    def look_ahead(using: str, at: datetime | None) -> Horizon:
        return real(using, NOON)

    real = reading.look_ahead
    monkeypatch.setattr(reading, "look_ahead", look_ahead)
    with time_machine.travel(NOON, tick=False):
        yield


def a_replica(replica_id: str = "web-1", seconds_ago: float = 5, **values: Any) -> None:
    usual = {
        "tick_interval_seconds": 30,
        "started_at": NOON - timedelta(days=1),
        "seen_at": NOON - timedelta(seconds=seconds_ago),
        "version": __version__,
        "tzdata_version": tzdata_version(),
    }
    Replica.objects.create(replica_id=replica_id, **(usual | values))


def a_planned_job(job_id: str, next_run_at: datetime | None, **values: Any) -> None:
    planned = {
        "task_name": "shop.tasks.report",
        "cron_expression": "0 * * * *",
        "planned_cron_expression": "0 * * * *",
        "planned_time_zone": "",
        "planned_dst_gap": "run_after",
        "planned_dst_fold": "first",
        "planned_in_zone": "UTC",
        "plan_from": None,
        "next_run_at": next_run_at,
    }
    CronJob.objects.create(job_id=job_id, **(planned | values))
