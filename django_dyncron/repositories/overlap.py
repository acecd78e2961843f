"""Which jobs are still running: asked inside the claim, so that the answer holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from ..core.claims import StoredJob
from ..core.planning import JobPlan, without_overlap
from ..core.policies import UNFINISHED, OverlapPolicy
from ..models import NEEDS_PLANNING, CronJob, CronRun

Planned = tuple[StoredJob, JobPlan]

_LONGEST_SECONDS = 100 * 366 * 86_400
"""SQLite takes any number; Python reckons no further back than the year 1."""


def without_overlaps(using: str, planned: Sequence[Planned], at: datetime) -> list[Planned]:
    """Take the runs that would overlap an unfinished one out of the plans, as skipped."""
    careful = {
        stored.definition.job_id: stored.definition.max_run_seconds
        for stored, plan in planned
        if plan.runs and stored.definition.overlap_policy == OverlapPolicy.SKIP
    }
    if not careful:
        return list(planned)
    running = _running(using, careful, at)
    return [
        (stored, without_overlap(plan, is_running=stored.definition.job_id in running))
        if stored.definition.job_id in careful
        else (stored, plan)
        for stored, plan in planned
    ]


def _running(using: str, longest: dict[str, int], at: datetime) -> set[str]:
    """Return the job ids with a run that is unfinished and not older than its job allows."""
    oldest = at - timedelta(seconds=min(max(longest.values()), _LONGEST_SECONDS))
    runs = CronRun.objects.using(using)
    # Not by their creation, too: its index leads through the runs of all jobs.
    unfinished = runs.filter(status__in=UNFINISHED)
    of_job = {"job_id": OuterRef("job_id")}
    # A cursor only moves forward, so the runs of a job were recorded in the order of their slots.
    # By the index on job and slot, newest first, no further back than the first that is too old.
    too_old = runs.filter(**of_job, created_at__lt=oldest, scheduled_for__isnull=False)
    latest = unfinished.filter(**of_job, scheduled_for__gt=OuterRef("too_old"))
    by_schedule = (
        CronJob.objects.using(using)
        .filter(job_id__in=longest)
        .annotate(
            too_old=Coalesce(_newest(too_old, "scheduled_for"), Value(NEEDS_PLANNING)),
            begun_at=_newest(latest, "created_at"),
        )
        .filter(begun_at__isnull=False)
        .values_list("job_id", "begun_at")
    )
    by_hand = unfinished.filter(job_id__in=longest, scheduled_for__isnull=True)
    return {
        job_id
        for job_id, begun_at in (*by_schedule, *by_hand.values_list("job_id", "created_at"))
        if begun_at >= at - timedelta(seconds=min(longest[job_id], _LONGEST_SECONDS))
    }


def _newest(runs: QuerySet[CronRun], name: str) -> Subquery:
    return Subquery(runs.order_by("-scheduled_for").values(name)[:1])
