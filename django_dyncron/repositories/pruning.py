"""Pruning: old runs are deleted, few at a time, by the index on their creation."""

from __future__ import annotations

from datetime import datetime

from django.db import connections, transaction
from django.db.models import QuerySet

from ..models import CronRun
from .dialects import IN_HAND, dialect_of
from .locking import free


def prunable(using: str, before: datetime) -> QuerySet[CronRun]:
    """Return the runs recorded before ``before`` that no replica has in hand, oldest first.

    One that is enqueued goes, although an overlap policy counts it as unfinished: most queues never
    tell what became of a task, and a run that is older than any retention has had its day.
    """
    runs = CronRun.objects.using(using).filter(created_at__lt=before).exclude(status__in=IN_HAND)
    return runs.order_by("created_at")


def prune(using: str, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` of :func:`prunable`; return how many."""
    with transaction.atomic(using=using):
        dialect_of(connections[using]).begin()
        old = free(prunable(using, before))
        keys = list(old.values_list("pk", flat=True)[:limit])
        deleted, _ = CronRun.objects.using(using).filter(pk__in=keys).delete() if keys else (0, {})
    return deleted
