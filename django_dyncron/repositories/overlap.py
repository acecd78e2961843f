"""Which jobs are still running: asked inside the claim, so that the answer holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db.models import Q

from ..core.claims import StoredJob
from ..core.planning import JobPlan, without_overlap
from ..core.policies import UNFINISHED, OverlapPolicy
from ..models import CronRun

Planned = tuple[StoredJob, JobPlan]


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
    oldest = at - timedelta(seconds=max(longest.values()))
    # By the index on job and slot, over recent slots only; a manual run has no slot.
    recent = Q(scheduled_for__isnull=True) | Q(scheduled_for__gte=oldest - timedelta(days=1))
    unfinished: Iterable[tuple[str, datetime]] = (
        CronRun.objects.using(using)
        .filter(recent, job_id__in=longest, status__in=UNFINISHED, created_at__gte=oldest)
        .values_list("job_id", "created_at")
    )
    return {
        job_id
        for job_id, created_at in unfinished
        if created_at >= at - timedelta(seconds=longest[job_id])
    }
