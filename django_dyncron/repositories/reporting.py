"""What the workers of a queue tell of a run: that it begins, and how it ended."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import connections, transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Now

from ..core.policies import RunStatus
from ..core.text import storable
from ..models import CronJob, CronRun
from .dialects import dialect_of
from .notes import JobNotes, job_note
from .reconnecting import again_if_disconnected
from .records import TASK_ID_LENGTH

_DAY_SECONDS = 86_400


def report_start(using: str, run_id: UUID, job_id: str, task_id: str) -> bool:
    """Mark a run as running; ``False`` if it began before, or if there is no such run.

    That a run begins once is decided here, whatever became of its row meanwhile: a delivery whose
    outcome nobody knew may have been given up.
    """
    # First, and apart: a connection may have been idle for long. What follows is done once.
    longest = _longest_run(using, job_id)
    changes = {"task_id": storable(task_id)[:TASK_ID_LENGTH]} if task_id else {}
    begun = (
        CronRun.objects.using(using)
        .filter(pk=run_id, started_at__isnull=True)
        .update(
            status=RunStatus.RUNNING,
            started_at=Now(),
            enqueued_at=Coalesce(F("enqueued_at"), Now()),
            finished_at=None,
            # Who never tells of its end has died: then the sweep records the run as lost.
            lease_until=Now() + Value(timedelta(seconds=longest)),
            error="",
            reason="",
            **changes,
        )
    )
    return bool(begun)


@again_if_disconnected
def _longest_run(using: str, job_id: str) -> int:
    jobs = CronJob.objects.using(using).filter(job_id=job_id)
    return jobs.values_list("max_run_seconds", flat=True).first() or _DAY_SECONDS


def report_end(using: str, notes: JobNotes, run_id: UUID, job_id: str, error: str) -> None:
    """Write how a run that began has ended: well or, with an ``error``, badly."""
    error = storable(error)
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using):
        dialect.begin()
        ended = (
            CronRun.objects.using(using)
            .filter(pk=run_id, started_at__isnull=False)
            .update(
                status=RunStatus.FAILED if error else RunStatus.SUCCEEDED,
                finished_at=Now(),
                lease_until=None,
                error=error,
            )
        )
        if ended:
            notes.write(dialect, [job_note(job_id, error=error)])
