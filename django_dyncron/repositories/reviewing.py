"""Marking jobs to be planned anew because the world around them changed."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connections, transaction
from django.db.models import Q

from ..core.tzdata import tzdata_version
from ..models import CronJob
from .dialects import dialect_of
from .locking import free

_AT_ONCE = 10_000
"""Rows marked in one transaction: claims must get at them in between."""
_FARTHEST = timedelta(days=366)
"""Few schedules look further ahead; for those, planning anew gives the same cursor."""


def review(using: str, time_zone: str, at: datetime) -> int:
    """Mark what a scheduler that starts at ``at`` must not take as it finds it; see the port."""
    other_zone = Q(time_zone="") & ~Q(planned_in_zone__in=["", time_zone])
    older_data = ~Q(planned_in_zone__in=["", "UTC"]) & Q(
        planned_with_tzdata__lt=tzdata_version(), next_run_at__gt=at
    )
    broken = Q(is_settled=True, planned_in_zone="")
    far_ahead = Q(next_run_at__gt=at + _FARTHEST)
    return _mark(using, other_zone | older_data | broken | far_ahead)


def replan_after(using: str, at: datetime) -> int:
    """Mark the jobs whose cursor is later than ``at``."""
    return _mark(using, Q(next_run_at__gt=at))


def _mark(using: str, jobs: Q) -> int:
    """Mark ``jobs`` batch by batch; a row in somebody else's hands is left as it is."""
    marked, last_key = 0, 0
    # A replica with older time zone data leaves alone what a newer one planned.
    chosen = (
        CronJob.objects.using(using)
        .filter(jobs, is_active=True, planned_cron_expression__isnull=False)
        .filter(planned_with_tzdata__lte=tzdata_version())
        .order_by("pk")
    )
    while True:
        with transaction.atomic(using=using, durable=True):
            dialect_of(connections[using]).begin()
            following = free(chosen.filter(pk__gt=last_key))
            keys = list(following.values_list("pk", flat=True)[:_AT_ONCE])
            if not keys:
                return marked
            batch = CronJob.objects.using(using).filter(pk__in=keys)
            marked += batch.update(planned_cron_expression=None)
        last_key = keys[-1]
