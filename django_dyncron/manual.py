"""Runs that somebody asks for: recorded here, delivered by a scheduler."""

from __future__ import annotations

from uuid import uuid4

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import Value
from django.db.models.functions import Now

from .conf import database_alias, read_settings
from .core.courier import LEASE
from .core.policies import RunKind, RunStatus
from .models import CronJob, CronRun

_COPIED = ("job_id", "task_name", "payload", "queue", "enqueuer", "options", "delivery")
_OF_A_RUN = ("task_name", "payload", "queue", "enqueuer", "options", NON_FIELD_ERRORS)
"""Where a fault is one of the run, too. Whatever is wrong with the schedule, it is not asked."""


def request_run(
    job: CronJob, *, by: str = "", using: str | None = None, replica_id: str = ""
) -> CronRun:
    """Record that ``by`` wants ``job`` run now, as its row stands; return the run.

    It belongs to no replica and its lease ends at once, so that the next sweep of any scheduler
    takes it over and delivers it: after one tick interval and ten seconds at the latest. It runs
    whether or not the job, or everything, is paused, and leaves the schedule alone.

    With a ``replica_id`` it is kept for that replica, which delivers it by
    :meth:`DynamicScheduler.deliver`; if that never happens, others take it over a minute later.

    Raises :class:`ValidationError` by field if such a run could never be delivered, and
    ``CronJob.DoesNotExist`` if the job was deleted meanwhile. ``using`` is a database alias, by
    default the scheduler's.
    """
    alias = using or database_alias(read_settings()[0])
    current = CronJob.objects.using(alias).get(pk=job.pk)
    _check(current)
    runs = CronRun.objects.using(alias)
    run = runs.create(
        id=uuid4(),
        kind=RunKind.MANUAL,
        status=RunStatus.CLAIMED,
        replica=replica_id,
        lease_until=Now() + Value(LEASE) if replica_id else Now(),
        asked_by=by,
        **{name: getattr(current, name) for name in _COPIED},
    )
    # With the moments that the database has given it.
    return runs.get(pk=run.pk)


def _check(job: CronJob) -> None:
    try:
        job.clean_fields()
    except ValidationError as error:
        faults = {name: of_one for name, of_one in error.error_dict.items() if name in _OF_A_RUN}
        if faults:
            raise ValidationError(faults) from None
