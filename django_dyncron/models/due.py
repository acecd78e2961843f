"""When a row is due, and from when an edit counts: decided inside the database.

``due_at`` is a stored generated column with one index: the cursor while it still fits the schedule
it was planned for, an early sentinel while the row waits to be planned, and NULL when there is
nothing to do. So one range scan finds what is due, another what was edited, by whatever means.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now
from django.db.models.lookups import IsNull

NEEDS_PLANNING = datetime(1970, 1, 1, tzinfo=UTC)
"""What ``due_at`` holds while a row waits to be planned: earlier than any slot."""

_LAST = datetime(9000, 1, 1, tzinfo=UTC)

PLANNED_FIELDS = ("cron_expression", "time_zone", "dst_gap", "dst_fold", "starts_at", "ends_at")
"""The inputs of a cursor; ``planned_…`` holds them as they were when it was planned."""

SCHEDULE_FIELDS = (*PLANNED_FIELDS, "is_active")
"""What a schedule is: whoever changes one of these makes the row be planned anew."""


def _same(name: str) -> Q:
    return Q(**{name: F(f"planned_{name}")})


def _same_or_both_empty(name: str) -> Q:
    return _same(name) | Q(**{f"{name}__isnull": True, f"planned_{name}__isnull": True})


_IS_PLANNED = (
    Q(is_active=True, plan_from__isnull=True)
    & _same("cron_expression")
    & _same("time_zone")
    & _same("dst_gap")
    & _same("dst_fold")
    & _same_or_both_empty("starts_at")
    & _same_or_both_empty("ends_at")
)

DUE_AT = Case(
    When(is_active=False, next_run_at__isnull=True, plan_from__isnull=True, then=Value(None)),
    When(
        _IS_PLANNED,
        then=Case(
            When(is_settled=True, then=Value(None)),
            # Any other cursor was set by hand, to what Python cannot read (infinity, a year of
            # five digits) or to a time before computers.
            When(next_run_at__range=(NEEDS_PLANNING, _LAST), then=F("next_run_at")),
            default=Value(NEEDS_PLANNING),
        ),
    ),
    default=Value(NEEDS_PLANNING),
)


def plan_from_after(edit: Mapping[str, Any]) -> Any:
    """Return what ``plan_from`` becomes when a row is given the values of ``edit``.

    It is the present moment if that changes the schedule of a job that is (now) active, so that
    the new schedule counts from the edit and never fires the past. Compared inside the database:
    saving an unchanged value must not lose a slot that is due.
    """
    if edit.get("is_active") is False:
        return None
    changed = Q()
    for name in SCHEDULE_FIELDS:
        if name in edit:
            changed |= _differs(name, edit[name])
    if "is_active" not in edit:
        changed &= Q(is_active=True)
    return Case(When(changed, then=Now()), default=F("plan_from"))


def _differs(name: str, value: Any) -> Q:
    """Return the condition for a column to change when it is given ``value``."""
    is_empty = Q(**{f"{name}__isnull": True})
    if value is None:
        return ~is_empty
    if not hasattr(value, "resolve_expression"):
        return ~Q(**{name: value})
    # What an expression comes to may be NULL, which equals nothing, not even NULL.
    becomes_empty = Q(IsNull(value, True))
    neither = ~is_empty & ~becomes_empty
    return (
        (is_empty & ~becomes_empty) | (~is_empty & becomes_empty) | (neither & ~Q(**{name: value}))
    )
