"""What lies ahead of a cron job, told from its row: state, next run, error."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db.models import Q

from .conf import read_settings
from .core.planning import PlanningRules, plan_job, schedule_for
from .core.schedule import CronSchedule
from .models import NEEDS_PLANNING

if TYPE_CHECKING:
    from .models import CronJob

_INSTANT = timedelta(microseconds=1)
_PATIENCE = timedelta(seconds=60)
"""How long after the tick that should have claimed it a slot may be unclaimed."""


class JobState(StrEnum):
    """What a cron job is up to."""

    ACTIVE = "active"
    """It has a next run."""
    FAILING = "failing"
    """It has a next run, but its latest one failed."""
    BROKEN = "broken"
    """It cannot be scheduled until somebody mends it."""
    PAUSED = "paused"
    ENDED = "ended"
    """Its last slot has passed."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """State, next run (UTC; ``None`` if there is none) and error of one cron job.

    ``pause_reason`` is why it is paused, if somebody said so.
    """

    state: JobState
    next_run_at: datetime | None = None
    error: str = ""
    pause_reason: str = ""


def planning_rules() -> PlanningRules:
    """Return the rules of this project's scheduler, defaults in the place of wrong settings."""
    settings, _ = read_settings()
    return PlanningRules(
        time_zone=settings.time_zone,
        tick_interval=timedelta(seconds=settings.tick_interval_seconds),
        catch_up_window=timedelta(seconds=settings.catch_up_window_seconds),
    )


def outlook(job: CronJob, now: datetime, rules: PlanningRules) -> Outlook:
    """Tell what lies ahead of ``job``, a row as it was read from the database.

    A row that no tick has planned yet, or not since its last edit, is planned here the same way, so
    what is shown is what will happen. A pause of everything changes nothing of it: the next slot
    stays the next slot, and ``current_pause()`` tells whether it will be run.
    """
    error = "" if _was_broken(job) and job.due_at is not None else job.last_error
    if not job.is_active:
        return Outlook(JobState.PAUSED, error=error, pause_reason=job.pause_reason)
    if job.due_at is None:
        return Outlook(JobState.BROKEN if _was_broken(job) else JobState.ENDED, error=error)
    next_run_at = job.next_run_at
    if job.due_at == NEEDS_PLANNING:
        plan = plan_job(job.definition(), None, now, rules, job.plan_from)
        if plan.error:
            return Outlook(JobState.BROKEN, error=plan.error)
        next_run_at = plan.next_run_at
    if next_run_at is None:
        return Outlook(JobState.ENDED, error=error)
    return Outlook(JobState.FAILING if error else JobState.ACTIVE, next_run_at, error)


def _was_broken(job: CronJob) -> bool:
    """Tell whether the last tick that planned ``job`` found that it cannot be scheduled.

    Such a row is settled without a zone it was planned in, and its error is the reason why: that is
    of no account once the row has been edited.
    """
    return job.is_settled and not job.planned_in_zone


def rows_in(state: JobState) -> Q:
    """Return the condition for rows in ``state``.

    It sees what the last tick saw, so a job that was just broken or mended by an edit moves over
    with the next one.
    """
    was_broken = Q(is_settled=True, planned_in_zone="")
    has_error = ~Q(last_error="") & ~was_broken
    is_ahead = Q(is_active=True, due_at__isnull=False)
    is_settled = Q(is_active=True, due_at__isnull=True)
    return {
        JobState.ACTIVE: is_ahead & ~has_error,
        JobState.FAILING: is_ahead & has_error,
        JobState.BROKEN: is_settled & was_broken,
        JobState.PAUSED: Q(is_active=False),
        JobState.ENDED: is_settled & ~was_broken,
    }[state]


def overdue(now: datetime, rules: PlanningRules) -> Q:
    """Return the condition for rows whose slot some scheduler should have claimed by ``now``.

    That is a range of the index on ``due_at``, to be counted and listed in its order. Rows that
    wait to be planned are not among them.
    """
    return Q(due_at__gt=NEEDS_PLANNING, due_at__lt=_patience_ends(now, rules))


def is_overdue(job: CronJob, now: datetime, rules: PlanningRules) -> bool:
    """Tell whether :func:`overdue` holds for ``job``."""
    due_at = job.due_at
    return due_at is not None and NEEDS_PLANNING < due_at < _patience_ends(now, rules)


def _patience_ends(now: datetime, rules: PlanningRules) -> datetime:
    return now - rules.tick_interval - _PATIENCE


def upcoming_slots(
    job: CronJob, count: int, now: datetime, rules: PlanningRules
) -> tuple[CronSchedule, list[datetime]]:
    """Return the schedule of ``job`` and its next ``count`` slots (UTC), within its dates.

    Works for a job that was never saved, and whether or not it is paused. Raises
    :class:`InvalidCronExpression`.
    """
    schedule = schedule_for(job.definition(), rules)
    after = now
    if job.starts_at is not None:
        after = max(after, job.starts_at - _INSTANT)
    slots = schedule.upcoming(after, count)
    return schedule, [slot for slot in slots if job.ends_at is None or slot <= job.ends_at]
