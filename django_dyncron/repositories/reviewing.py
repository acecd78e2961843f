"""Marking jobs to be planned anew because the world around them changed."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q
from django.db.models.functions import Now

from ..core.tzdata import tzdata_version
from ..models import CronJob

_FARTHEST = timedelta(days=366)
"""Few schedules look further ahead; for those, planning anew gives the same cursor."""


def review(using: str, time_zone: str) -> int:
    """Mark what a scheduler that starts must not take as it finds it; see the port."""
    installed = tzdata_version()
    other_zone = Q(time_zone="") & ~Q(planned_in_zone__in=["", time_zone])
    older_data = ~Q(planned_in_zone__in=["", "UTC"]) & Q(
        planned_with_tzdata__lt=installed, next_run_at__gt=Now()
    )
    broken = Q(is_settled=True, planned_in_zone="")
    far_ahead = Q(next_run_at__gt=Now() + _FARTHEST)
    return _mark(using, other_zone | older_data | broken | far_ahead)


def replan_after(using: str, at: datetime) -> int:
    """Mark the jobs whose cursor is later than ``at``."""
    return _mark(using, Q(next_run_at__gt=at))


def _mark(using: str, jobs: Q) -> int:
    # A replica with older time zone data leaves alone what a newer one planned.
    marked: int = (
        CronJob.objects.using(using)
        .filter(jobs, is_active=True, planned_cron_expression__isnull=False)
        .filter(planned_with_tzdata__lte=tzdata_version())
        .update(planned_cron_expression=None)
    )
    return marked
