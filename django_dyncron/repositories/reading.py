"""Reading the rows of a batch, locked, by the index on ``due_at``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import Error, connections
from django.db.models import Q, QuerySet

from ..core.claims import ClaimOrder
from ..models import DEFINITION_FIELDS, NEEDS_PLANNING, SCHEDULE_FIELDS, CronJob
from .dialects import Dialect

SEEN_FIELDS = ("due_at", "plan_from", *SCHEDULE_FIELDS)
"""What a plan is made from: compared when its cursor is swapped."""

Row = Mapping[str, Any]


def read_batch(using: str, order: ClaimOrder, dialect: Dialect) -> list[Row]:
    """Return up to ``order.limit`` rows: due ones first, then those to be planned."""
    jobs = _jobs(using, order, dialect)
    rows = _rows(jobs.filter(due_at__gt=NEEDS_PLANNING, due_at__lte=order.at)[: order.limit])
    if order.plans_new and len(rows) < order.limit:
        rows += _rows(jobs.filter(due_at__lte=NEEDS_PLANNING)[: order.limit - len(rows)])
    return rows


def _jobs(using: str, order: ClaimOrder, dialect: Dialect) -> QuerySet[CronJob]:
    jobs = CronJob.objects.using(using).order_by("due_at")
    if order.excluded:
        jobs = jobs.filter(~Q(pk__in=order.excluded))
    features = connections[using].features
    if features.has_select_for_update:
        jobs = jobs.select_for_update(skip_locked=features.has_select_for_update_skip_locked)
    seen = {f"seen_{name}": dialect.seen(name) for name in SEEN_FIELDS}
    annotated: QuerySet[CronJob] = jobs.annotate(**seen)
    return annotated


def _rows(jobs: QuerySet[CronJob]) -> list[Row]:
    seen = [f"seen_{name}" for name in SEEN_FIELDS]
    try:
        return list(jobs.values("id", "due_at", "plan_from", *DEFINITION_FIELDS, *seen))
    except Error:
        raise
    except Exception:
        # A value its column forbids, which SQL can put there on SQLite. Find the row by reading
        # one at a time: the others must go on.
        return [_row(jobs, key, seen) for key in jobs.values_list("id", flat=True)]


def _row(jobs: QuerySet[CronJob], key: int, seen: list[str]) -> Row:
    one = jobs.model._base_manager.using(jobs.db).filter(pk=key).annotate(**jobs.query.annotations)
    names = ["id", "due_at", "plan_from", *DEFINITION_FIELDS, *seen]
    try:
        row: Row = one.values(*names).get()
    except Exception as error:
        readable = one.values("id", "job_id", "due_at", "task_name", "cron_expression", *seen).get()
        problem = f"The row holds a value that cannot be read: {error}"
        return {**dict.fromkeys(names), **readable, "unreadable": problem}
    return row
