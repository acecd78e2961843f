"""Pruning: old runs are deleted, few at a time, by the index on their creation."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from ..core.policies import RunStatus
from ..models import CronRun

_KEPT = (RunStatus.CLAIMED, RunStatus.RUNNING)


def prunable(using: str, before: datetime) -> QuerySet[CronRun]:
    """Return the runs recorded before ``before`` that nobody works on, oldest first."""
    runs = CronRun.objects.using(using).filter(created_at__lt=before).exclude(status__in=_KEPT)
    return runs.order_by("created_at")


def prune(using: str, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` of :func:`prunable`; return how many."""
    keys = list(prunable(using, before).values_list("pk", flat=True)[:limit])
    # Asked again: a run may have been taken up in between.
    deleted, _ = prunable(using, before).filter(pk__in=keys).delete() if keys else (0, {})
    return deleted
