"""The rows of the store in memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..core.definitions import CronJobDefinition, Run


@dataclass
class StoredRow:
    """A job and how far it has come. ``planned`` is the definition its cursor was planned for."""

    key: int
    job: CronJobDefinition
    plan_from: datetime | None = None
    next_run_at: datetime | None = None
    is_settled: bool = False
    last_error: str = ""
    planned: CronJobDefinition | None = None
    planned_in_zone: str = ""

    @property
    def due_at(self) -> datetime | None:
        """The cursor, if it still holds."""
        return None if self.needs_planning or self.is_settled else self.next_run_at

    @property
    def needs_planning(self) -> bool:
        if not self.job.is_active:
            return self.next_run_at is not None or self.plan_from is not None
        if self.plan_from is not None or inputs(self.job) != inputs(self.planned):
            return True
        return self.next_run_at is None and not self.is_settled


@dataclass
class StoredRun:
    """A run row. ``count`` slots from ``run.scheduled_for`` to ``until`` if it was skipped."""

    run: Run
    status: str
    reason: str = ""
    replica: str = ""
    count: int = 1
    until: datetime | None = None
    error: str = ""
    task_id: str = ""
    attempts: int = 1
    lease_until: datetime | None = None
    enqueued_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


def inputs(job: CronJobDefinition | None) -> tuple[object, ...] | None:
    """Return what a cursor is planned from."""
    if job is None:
        return None
    return (
        job.cron_expression,
        job.time_zone,
        job.dst_gap,
        job.dst_fold,
        job.starts_at,
        job.ends_at,
        job.is_active,
    )


def seen(row: StoredRow) -> tuple[object, ...]:
    """Return what a claim compares: whether ``row`` still is what it was planned as."""
    return inputs(row.job), row.needs_planning, row.due_at, row.plan_from
