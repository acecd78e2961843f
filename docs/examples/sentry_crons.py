"""Check-ins of cron jobs with the monitors of Sentry Crons."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver
from sentry_sdk.crons import capture_checkin
from sentry_sdk.crons.consts import MonitorStatus

from django_dyncron import CurrentRun, signals

MONITORED = {"nightly-report": "nightly-report", "shop.tasks.sync_prices": "sync-prices"}
"""Job id -> slug of its monitor."""


@receiver(signals.run_started)
def check_in(run: CurrentRun, **_: Any) -> None:
    tell(run, MonitorStatus.IN_PROGRESS)


@receiver(signals.run_succeeded)
def check_out(run: CurrentRun, **_: Any) -> None:
    tell(run, MonitorStatus.OK)


@receiver([signals.run_failed, signals.run_lost])
def check_out_with_error(run: CurrentRun, **_: Any) -> None:
    tell(run, MonitorStatus.ERROR)


def tell(run: CurrentRun, status: str) -> None:
    if slug := MONITORED.get(run.job_id):
        capture_checkin(monitor_slug=slug, check_in_id=run.run_id.hex, status=status)
