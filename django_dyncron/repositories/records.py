"""Recording what became of claimed runs, and the course of those that run in this process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connections, transaction

from ..core.definitions import Run
from ..core.policies import RunKind, RunStatus
from ..core.runs import Record
from ..core.text import storable
from ..models import CronRun
from .dialects import Dialect, Row, dialect_of
from .notes import JobNotes, job_note

TASK_ID_LENGTH = CronRun._meta.get_field("task_id").max_length


def record(using: str, notes: JobNotes, records: Sequence[Record]) -> None:
    """Write ``records`` in a transaction of their own."""
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin()
        notes.pay(dialect)
        write(dialect, notes, records)


def write(dialect: Dialect, notes: JobNotes, records: Sequence[Record]) -> None:
    """Write ``records`` in the open transaction, and what they mean for their jobs."""
    if records:
        of_jobs = _notes(records)
        locked = dialect.record([_run_row(record) for record in records], of_jobs)
        notes.owe(dialect, of_jobs, locked)


def start(
    using: str, notes: JobNotes, run: Run, replica_id: str, at: datetime, lease: timedelta
) -> bool:
    """Move a run that ``replica_id`` claimed to *running*; ``False`` if it is not its own."""
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin()
        started = (
            CronRun.objects.using(using)
            .filter(pk=run.run_id, status=RunStatus.CLAIMED, attempts=run.attempts)
            .filter(replica=replica_id)
            .update(status=RunStatus.RUNNING, enqueued_at=at, started_at=at, lease_until=at + lease)
        )
        if started and run.kind == RunKind.SCHEDULED:
            notes.write(dialect, [job_note(run.job_id, enqueued_at=at)])
    return bool(started)


def finish(
    using: str, notes: JobNotes, run: Run, status: str, at: datetime, error: str = ""
) -> None:
    """Close a running run; also one given up as lost, which turned out to live."""
    error = storable(error)
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin()
        finished = (
            CronRun.objects.using(using)
            .filter(pk=run.run_id, status__in=(RunStatus.RUNNING, RunStatus.LOST))
            .filter(attempts=run.attempts)
            .update(status=status, finished_at=at, error=error, lease_until=None)
        )
        if finished:
            notes.write(dialect, [job_note(run.job_id, error=error)])


def note_last_run(using: str, notes: JobNotes, job_id: str, moment: datetime) -> None:
    """Note when a job was last enqueued, never backwards."""
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin()
        notes.write(dialect, [job_note(job_id, enqueued_at=moment)])


def _run_row(record: Record) -> dict[str, Any]:
    row = {
        "id": record.run.run_id,
        "job_id": record.run.job_id,
        # Each taking over counts one more, so this tells whether the run is still ours.
        "attempts": record.run.attempts,
        "status": record.status,
        "reason": record.reason,
        # A queue may answer anything; what cannot be stored must not hold up other runs.
        "task_id": storable(record.task_id)[:TASK_ID_LENGTH],
        "error": storable(record.error),
        "enqueued_at": record.enqueued_at,
        "finished_at": record.finished_at,
        "lease_until": record.lease_until,
    }
    if record.is_given_back:
        row["is_given_back"] = True
    return row


def _notes(records: Sequence[Record]) -> list[Row]:
    """Return one note a job: its latest scheduled enqueue, and what its latest run came to."""
    notes: dict[str, dict[str, Any]] = {}
    for record in records:
        job_id, enqueued_at = record.run.job_id, record.enqueued_at
        note = notes.setdefault(job_id, job_note(job_id))
        if enqueued_at is not None or record.error:
            note["error"] = storable(record.error)
        if enqueued_at is not None and record.run.kind == RunKind.SCHEDULED:
            note["enqueued_at"] = max(note["enqueued_at"] or enqueued_at, enqueued_at)
    return list(notes.values())
