"""Recording what became of claimed runs, and the course of those that run in this process."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connections, transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Greatest

from ..core.definitions import Run
from ..core.policies import RunKind, RunStatus
from ..core.runs import Record
from ..models import CronJob, CronRun
from .dialects import Dialect, dialect_of


def record(using: str, records: Sequence[Record]) -> None:
    """Write ``records`` in a transaction of their own."""
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin()
        write(dialect, records)


def write(dialect: Dialect, records: Sequence[Record]) -> None:
    """Write ``records`` and the last run and error of their jobs."""
    if records:
        dialect.record([_run_row(record) for record in records], list(_job_rows(records)))


def start(using: str, run: Run, replica_id: str, at: datetime, lease: timedelta) -> bool:
    """Move a run that ``replica_id`` claimed to *running*; ``False`` if it is not its own."""
    with transaction.atomic(using=using, durable=True):
        started = (
            CronRun.objects.using(using)
            .filter(pk=run.run_id, status=RunStatus.CLAIMED, attempts=run.attempts)
            .filter(replica=replica_id)
            .update(status=RunStatus.RUNNING, enqueued_at=at, started_at=at, lease_until=at + lease)
        )
        if started and run.kind == RunKind.SCHEDULED:
            latest = Coalesce(Greatest(F("last_run_at"), Value(at)), Value(at))
            CronJob.objects.using(using).filter(job_id=run.job_id).update(last_run_at=latest)
    return bool(started)


def finish(using: str, run: Run, status: str, at: datetime, error: str = "") -> None:
    """Close a running run; also one given up as lost, which turned out to live."""
    error = _clean(error)
    with transaction.atomic(using=using, durable=True):
        finished = (
            CronRun.objects.using(using)
            .filter(pk=run.run_id, status__in=(RunStatus.RUNNING, RunStatus.LOST))
            .filter(attempts=run.attempts)
            .update(status=status, finished_at=at, error=error, lease_until=None)
        )
        if finished:
            CronJob.objects.using(using).filter(job_id=run.job_id).update(last_error=error)


def _run_row(record: Record) -> dict[str, Any]:
    return {
        "id": record.run.run_id,
        "job_id": record.run.job_id,
        # Each taking over counts one more, so this tells whether the run is still ours.
        "attempts": record.run.attempts,
        "status": record.status,
        "reason": record.reason,
        "task_id": record.task_id,
        "error": _clean(record.error),
        "enqueued_at": record.enqueued_at,
        "finished_at": record.finished_at,
        "lease_until": record.lease_until,
    }


def _job_rows(records: Sequence[Record]) -> Collection[dict[str, Any]]:
    """Return one row a job: its latest scheduled enqueue, and what its latest run came to."""
    jobs: dict[str, dict[str, Any]] = {}
    for record in records:
        job_id, enqueued_at = record.run.job_id, record.enqueued_at
        row = jobs.setdefault(job_id, {"job_id": job_id, "enqueued_at": None, "error": None})
        if enqueued_at is not None or record.error:
            row["error"] = _clean(record.error)
        if enqueued_at is not None and record.run.kind == RunKind.SCHEDULED:
            row["enqueued_at"] = max(row["enqueued_at"] or enqueued_at, enqueued_at)
    return jobs.values()


def _clean(error: str) -> str:
    """Return ``error`` without NUL, which PostgreSQL's text cannot hold."""
    return error.replace("\0", "\N{REPLACEMENT CHARACTER}") if error else ""
