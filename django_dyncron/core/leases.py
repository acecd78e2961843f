"""What becomes of a run whose lease ended: the replica that held it is gone, or gave it back."""

from __future__ import annotations

from datetime import datetime

from .definitions import Run
from .policies import Delivery, RunStatus, SkipReason
from .runs import Record

_LOST = "The process that ran the task died or stalled."
_UNKNOWN = "The process died while handing the task over; it may or may not be in the queue."


def close_expired(
    run: Run,
    status: str,
    now: datetime,
    *,
    job_exists: bool,
    is_superseded: bool,
    starts_once: bool = False,
) -> Record | None:
    """Return the record to close ``run`` with; ``None`` if it is to be delivered again.

    A run without an owner was given back unsent. ``is_superseded`` says that the job runs only its
    latest missed slot and that a newer one was claimed; ``starts_once`` that its enqueuer starts a
    run by its row, so that delivering it again cannot start it twice.
    """
    if status == RunStatus.RUNNING:
        return Record(run, RunStatus.LOST, error=_LOST, finished_at=now)
    may_be_sent = bool(run.replica) and run.attempts > 0 and not starts_once
    if run.delivery == Delivery.AT_MOST_ONCE and may_be_sent:
        return Record(run, RunStatus.UNKNOWN, error=_UNKNOWN, finished_at=now)
    if not job_exists:
        reason = SkipReason.DELETED
    elif is_superseded:
        reason = SkipReason.SUPERSEDED
    else:
        return None
    return Record(run, RunStatus.SKIPPED, reason=reason, finished_at=now)
