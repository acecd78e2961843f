"""Reading when everything is, or was, paused."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, Subquery

from ..core.pauses import PausedSpan
from ..models import NEEDS_PLANNING, CronJob, Pause

_AT_MOST = 1000
"""A bound for the worst case: a machine that pauses and resumes all day."""


def pauses(using: str, at: datetime) -> list[PausedSpan]:
    """Return what lasts, and what ended after the earliest slot that may be due: mostly nothing.

    That is the earliest cursor or, of rows that wait to be planned, where planning begins; but not
    later than ``at``, which may be long past when a test asks.
    """
    jobs = CronJob.objects.using(using)
    cursor = jobs.filter(due_at__gt=NEEDS_PLANNING).order_by("due_at").values("due_at")
    waiting = jobs.filter(due_at__lte=NEEDS_PLANNING, plan_from__isnull=False)
    first = waiting.order_by("plan_from").values("plan_from")
    rows = (
        Pause.objects.using(using)
        .filter(
            Q(until__isnull=True)
            | Q(until__gt=at)
            | Q(until__gt=Subquery(cursor[:1]))
            | Q(until__gt=Subquery(first[:1])),
            since__lte=at,
        )
        .order_by("-since")
        .values_list("since", "until")[:_AT_MOST]
    )
    return [PausedSpan(*row) for row in reversed(rows)]
