"""The latest runs of many jobs at once, in a constant number of queries for each 500.

All of it goes along the index on job and time, so that it costs the same however long a history is.
Meant for the jobs of one page.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db.models import OuterRef, Q, QuerySet, Subquery

from .core.policies import RunStatus
from .models import CronJob, CronRun

_SHOWN = (
    "job_id",
    "scheduled_for",
    "skipped_until",
    "slot_count",
    "kind",
    "status",
    "reason",
    "error",
    "created_at",
    "enqueued_at",
    "started_at",
    "finished_at",
)
"""What is read of thousands of runs; anything else is fetched from the row when asked for."""
_AT_ONCE = 500
"""SQLite takes no condition with a thousand parts."""
_LEEWAY = timedelta(milliseconds=1)
"""SQLite compares moments as text, and its own clock writes fewer digits than Django does."""


def newest_runs(jobs: Collection[CronJob], count: int = 30) -> dict[str, list[CronRun]]:
    """Return up to ``count`` newest runs of each of ``jobs``, oldest first, by job id.

    Every job has an entry. Skipped slots and runs by hand are among them, in the order in which
    they were recorded.
    """
    newest: dict[str, list[CronRun]] = {job.job_id: [] for job in jobs}
    if not newest:
        return newest
    runs, chosen = _runs_and_rows(jobs)
    of_job = runs.filter(job_id=OuterRef("job_id")).order_by("-created_at")
    oldest = Subquery(of_job.values("created_at")[count - 1 : count])
    ranges = [_since(job_id, moment) for job_id, moment in chosen.values_list("job_id", oldest)]
    for start in range(0, len(ranges), _AT_ONCE):
        some = reduce(or_, ranges[start : start + _AT_ONCE])
        found = runs.filter(some).only(*_SHOWN)
        for run in found.order_by("created_at", "scheduled_for"):
            newest[run.job_id].append(run)
    # There may be more, recorded at the same moment by one tick.
    return {job_id: of_one[-count:] for job_id, of_one in newest.items()}


def latest_runs(jobs: Collection[CronJob]) -> dict[str, CronRun]:
    """Return the newest run of each of ``jobs``, skipped slots aside, by job id."""
    if not jobs:
        return {}
    runs, chosen = _runs_and_rows(jobs)
    of_job = runs.filter(job_id=OuterRef("job_id")).exclude(status=RunStatus.SKIPPED)
    latest = Subquery(of_job.order_by("-created_at", "-scheduled_for").values("pk")[:1])
    ids = [run_id for run_id in chosen.values_list(latest, flat=True) if run_id is not None]
    return {run.job_id: run for run in runs.filter(pk__in=ids)}


def _runs_and_rows(jobs: Collection[CronJob]) -> tuple[QuerySet[CronRun], QuerySet[CronJob]]:
    """Return all runs, and the rows of ``jobs``, in the database these were read from."""
    alias = next(iter(jobs))._state.db
    rows = CronJob.objects.using(alias).filter(pk__in=[job.pk for job in jobs])
    return CronRun.objects.using(alias), rows.order_by()


def _since(job_id: str, moment: datetime | None) -> Q:
    """Return the condition for the runs of a job from ``moment`` on; all if there are few."""
    of_job = Q(job_id=job_id)
    return of_job if moment is None else of_job & Q(created_at__gte=moment - _LEEWAY)
