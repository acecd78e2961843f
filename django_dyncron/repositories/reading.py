"""Reading the rows of a batch through the ORM, locked, by the index on ``due_at``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import DataError, Error
from django.db.models import F, IntegerField, Q, QuerySet
from django.db.models.expressions import Combinable

from ..core.claims import ClaimOrder
from ..core.definitions import CronJobDefinition
from ..core.planning import JobPlan
from ..core.text import one_line
from ..core.tzdata import tzdata_version
from ..models import DEFINITION_FIELDS, NEEDS_PLANNING, SCHEDULE_FIELDS, CronJob
from .dialects import BatchRow
from .locking import free

Seen = Mapping[str, Combinable]

SEEN_FIELDS = ("due_at", "plan_from", *SCHEDULE_FIELDS)
"""What a plan is made from: compared when its cursor is swapped."""
_SEEN: Seen = {f"seen_{name}": F(name) for name in SEEN_FIELDS}
PLANNING_FIELDS = tuple(
    name for name in DEFINITION_FIELDS if name not in ("description", "last_run_at", "next_run_at")
)
"""What planning looks at: each column more is read and converted once a run."""
_NAMES = ("id", "due_at", "plan_from", *PLANNING_FIELDS)


def read_batch(using: str, order: ClaimOrder, seen: Seen = _SEEN) -> list[BatchRow]:
    """Return up to ``order.limit`` rows with what is ``seen`` of them, to be compared later."""
    jobs = free(CronJob.objects.using(using).order_by("due_at").annotate(**seen))
    if order.excluded:
        jobs = jobs.filter(~Q(pk__in=order.excluded))
    due = jobs.filter(due_at__gt=NEEDS_PLANNING, due_at__lte=order.at)
    rows = _rows(due[: order.limit], seen)
    if order.plans_new and len(rows) < order.limit:
        new = jobs.filter(due_at__lte=NEEDS_PLANNING)
        rows += _rows(new[: order.limit - len(rows)], seen)
    return rows


def is_about_a_value(error: Exception) -> bool:
    """Tell whether ``error`` says that a value cannot be read; not that the database is away.

    SQL can put what their column forbids into SQLite's rows, and what Python cannot hold into
    those of PostgreSQL: an infinite moment, a year of five digits.
    """
    # So does SQLite say of a text that is no UTF-8.
    return not isinstance(error, Error) or isinstance(error, DataError) or "decode" in str(error)


def unreadable_row(
    key: int,
    job_id: object,
    error: Exception,
    seen: Mapping[str, Any],
    due_at: datetime = NEEDS_PLANNING,
) -> BatchRow:
    """Return what stands for a row that could not be read: it is to be marked as broken."""
    return BatchRow(
        key=key,
        definition=CronJobDefinition(str(job_id), task_name="", cron_expression=""),
        due_at=due_at,
        plan_from=None,
        seen=seen,
        unreadable=f"The row holds a value that cannot be read: {one_line(error)}",
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


def _rows(jobs: QuerySet[CronJob], seen: Seen) -> list[BatchRow]:
    try:
        return [_batch_row(row, seen) for row in jobs.values(*_NAMES, *seen)]
    except Exception as error:
        if not is_about_a_value(error):
            raise
    # Find the row by reading one at a time: the others must go on.
    return [_read_alone(jobs.db, key, seen) for key in jobs.values_list("id", flat=True)]


def _read_alone(using: str, key: int, seen: Seen) -> BatchRow:
    job = CronJob.objects.using(using).filter(pk=key).annotate(**seen)
    try:
        return _batch_row(job.values(*_NAMES, *seen).get(), seen)
    except Exception as error:
        if not is_about_a_value(error):
            raise
        job_id = _readable(job, ["job_id"]).get("job_id", "")
        return unreadable_row(key, job_id, error, _readable(job, seen))


def _readable(job: QuerySet[CronJob], names: Iterable[str]) -> dict[str, Any]:
    """Return those columns that can be read; the others cannot be compared either."""
    values: dict[str, Any] = {}
    for name in names:
        try:
            values[name] = job.values_list(name, flat=True).get()
        except Exception as error:
            if not is_about_a_value(error):
                raise
    return values


def _batch_row(row: Mapping[str, Any], seen: Seen) -> BatchRow:
    for name, kind in _KINDS.items():
        if not isinstance(row[name], kind):
            raise TypeError(f"{name} is {row[name]!r}")
    return BatchRow(
        key=row["id"],
        definition=CronJobDefinition(**{name: row[name] for name in PLANNING_FIELDS}),
        due_at=row["due_at"],
        plan_from=row["plan_from"],
        seen={name: row[name] for name in seen},
    )


def _kind(name: str) -> type | None:
    field = CronJob._meta.get_field(name)
    if field.null or not field.get_internal_type().startswith(("Char", "Text", "PositiveInteger")):
        return None
    return int if isinstance(field, IntegerField) else str


_KINDS = {name: kind for name in PLANNING_FIELDS if (kind := _kind(name)) is not None}
"""What Python type a column has to have: SQLite stores anything anywhere."""
