"""Reading the rows of a batch through the ORM, locked, by the index on ``due_at``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import Error, connections
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import Combinable

from ..core.claims import ClaimOrder
from ..core.definitions import CronJobDefinition
from ..core.planning import JobPlan
from ..core.tzdata import tzdata_version
from ..models import DEFINITION_FIELDS, NEEDS_PLANNING, SCHEDULE_FIELDS, CronJob
from .dialects import BatchRow

SEEN_FIELDS = ("due_at", "plan_from", *SCHEDULE_FIELDS)
"""What a plan is made from: compared when its cursor is swapped."""
_SEEN = [f"seen_{name}" for name in SEEN_FIELDS]
_NAMES = ["id", "due_at", "plan_from", *DEFINITION_FIELDS, *_SEEN]


def read_batch(
    using: str, order: ClaimOrder, seen: Callable[[str], Combinable] = F
) -> list[BatchRow]:
    """Return up to ``order.limit`` rows; ``seen`` gives the expression a column is compared by."""
    jobs = _jobs(using, order, seen)
    rows = _rows(jobs.filter(due_at__gt=NEEDS_PLANNING, due_at__lte=order.at)[: order.limit])
    if order.plans_new and len(rows) < order.limit:
        rows += _rows(jobs.filter(due_at__lte=NEEDS_PLANNING)[: order.limit - len(rows)])
    return rows


def _jobs(using: str, order: ClaimOrder, seen: Callable[[str], Combinable]) -> QuerySet[CronJob]:
    jobs = CronJob.objects.using(using).order_by("due_at")
    if order.excluded:
        jobs = jobs.filter(~Q(pk__in=order.excluded))
    features = connections[using].features
    if features.has_select_for_update:
        jobs = jobs.select_for_update(skip_locked=features.has_select_for_update_skip_locked)
    annotated: QuerySet[CronJob] = jobs.annotate(
        **{f"seen_{name}": seen(name) for name in SEEN_FIELDS}
    )
    return annotated


def _rows(jobs: QuerySet[CronJob]) -> list[BatchRow]:
    try:
        return [_batch_row(row) for row in jobs.values(*_NAMES)]
    except Error:
        raise
    except Exception:
        # A value its column forbids, which SQL can put there on SQLite. Find the row by reading
        # one at a time: the others must go on.
        return [_read_alone(jobs, key) for key in jobs.values_list("id", flat=True)]


def _read_alone(jobs: QuerySet[CronJob], key: int) -> BatchRow:
    one = jobs.model._base_manager.using(jobs.db).filter(pk=key).annotate(**jobs.query.annotations)
    try:
        row: Mapping[str, Any] = one.values(*_NAMES).get()
    except Exception as error:
        readable = one.values("id", "job_id", "due_at", "task_name", "cron_expression", *_SEEN)
        row = {**dict.fromkeys(_NAMES), **readable.get()}
        return _batch_row(row, f"The row holds a value that cannot be read: {error}")
    return _batch_row(row)


def _batch_row(row: Mapping[str, Any], unreadable: str = "") -> BatchRow:
    return BatchRow(
        key=row["id"],
        definition=CronJobDefinition(**{name: row[name] for name in DEFINITION_FIELDS}),
        due_at=row["due_at"],
        plan_from=row["plan_from"],
        seen={name: row[name] for name in _SEEN},
        unreadable=unreadable,
    )


def move_row(row: BatchRow, plan: JobPlan) -> dict[str, Any]:
    """Return a move as one flat row: the key, the new columns, and what was seen."""
    return {
        "id": row.key,
        "next_run_at": plan.next_run_at,
        "is_settled": plan.is_settled,
        "planned_in_zone": plan.time_zone,
        "planned_with_tzdata": tzdata_version(),
        "error": plan.error,
        **row.seen,
    }
