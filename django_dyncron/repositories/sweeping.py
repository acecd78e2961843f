"""Sweeping: runs whose lease ended are taken over, or closed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from django.db import connections, transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery

from ..core.claims import Sweep, SweepOrder
from ..core.definitions import Run
from ..core.leases import close_expired
from ..core.policies import MisfirePolicy, RunKind, RunStatus
from ..core.runs import Record
from ..models import CronJob, CronRun
from . import records
from .claiming import deliver_and_record
from .dialects import dialect_of
from .locking import free
from .notes import JobNotes

_LONGEST_JITTER_SECONDS = 86_400


def sweep(using: str, notes: JobNotes, order: SweepOrder) -> Sweep:
    """Take over or close up to ``order.limit`` runs; a single plain read if no lease has ended."""
    at, lease_until = order.at, order.at + order.lease
    leased = CronRun.objects.using(using).filter(lease_until__isnull=False).order_by("lease_until")
    if order.only is not None:
        leased = wanted = leased.filter(pk=order.only, replica=order.replica_id)
    else:
        wanted = leased.filter(lease_until__lte=at)
        next_at = leased.values_list("lease_until", flat=True).first()
        if next_at is None or next_at > at:
            return Sweep(next_at=next_at)
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin()
        expired = list(_locked(wanted)[: order.limit])
        verdicts = [(row, _verdict(row, order)) for row in expired]
        closed = [verdict for _, verdict in verdicts if verdict is not None]
        taken = [row for row, verdict in verdicts if verdict is None]
        records.write(dialect, notes, closed)
        CronRun.objects.using(using).filter(pk__in=[row.pk for row in taken]).update(
            replica=order.replica_id, lease_until=lease_until, attempts=F("attempts") + 1
        )
        runs = [_run(row, attempts=row.attempts + 1, lease_until=lease_until) for row in taken]
        inside = deliver_and_record(dialect, notes, order, runs)
        later = leased.filter(lease_until__gt=at).values_list("lease_until", flat=True)
        next_at = at if len(expired) == order.limit else later.first()
    done = {record.run.run_id for record in inside}
    return Sweep(
        runs=[run for run in runs if run.run_id not in done],
        records=[*closed, *inside],
        next_at=next_at,
    )


def _locked(wanted: QuerySet[CronRun]) -> QuerySet[CronRun]:
    """Lock the runs, and look up what decides their fate."""
    job = CronJob.objects.using(wanted.db).filter(job_id=OuterRef("job_id"))
    newer = (
        CronRun.objects.using(wanted.db)
        .filter(job_id=OuterRef("job_id"), scheduled_for__gt=OuterRef("scheduled_for"))
        .exclude(status=RunStatus.SKIPPED)
    )
    return free(wanted).annotate(
        job_jitter=Subquery(job.values("jitter_seconds")[:1]),
        job_policy=Subquery(job.values("misfire_policy")[:1]),
        job_window=Subquery(job.values("catch_up_window_seconds")[:1]),
        has_newer=Exists(newer),
    )


def _verdict(row: Any, order: SweepOrder) -> Record | None:
    return close_expired(
        _run(row),
        row.status,
        order.at,
        job_exists=row.job_policy is not None,
        is_superseded=row.has_newer and row.job_policy == MisfirePolicy.FIRE_ONCE,
        starts_once=row.enqueuer in order.starting_once,
    )


def _run(row: Any, **changes: Any) -> Run:
    values = {
        "attempts": row.attempts,
        "lease_until": row.lease_until,
        "kind": row.kind or RunKind.SCHEDULED,
        **changes,
    }
    return Run(
        run_id=row.pk,
        job_id=row.job_id,
        task_name=row.task_name,
        payload=row.payload,
        queue=row.queue,
        scheduled_for=row.scheduled_for,
        enqueuer=row.enqueuer,
        options=row.options,
        delivery=row.delivery,
        created_at=row.created_at,
        catch_up_window_seconds=row.job_window,
        replica=row.replica,
        due_at=_due_at(row),
        **values,
    )


def _due_at(row: Any) -> datetime | None:
    """Return when a run was to be delivered first, or the latest moment that may have been."""
    if row.scheduled_for is None:
        return None
    if row.attempts == 0:
        return cast(datetime, row.lease_until)  # until now it waited for just that
    # SQLite stores anything anywhere.
    jitter = row.job_jitter if isinstance(row.job_jitter, int) else 0
    seconds = min(max(jitter, 0), _LONGEST_JITTER_SECONDS)
    return cast(datetime, row.scheduled_for) + timedelta(seconds=seconds)
