"""What a scheduler tells its observers, after it has been committed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from .definitions import Run
from .policies import RunStatus


@dataclass(frozen=True, slots=True)
class TickResult:
    """What one tick did.

    ``at`` is the instant it judged by, ``next_due_at`` the next slot it knows of (both UTC).
    ``planned`` counts jobs whose cursor was set or moved, ``claimed`` the slots this replica won,
    ``refused`` those left to another holder of the lock, ``retried`` runs taken up again.
    """

    at: datetime
    planned: int = 0
    claimed: int = 0
    enqueued: int = 0
    failed: int = 0
    skipped: int = 0
    refused: int = 0
    retried: int = 0
    broken: int = 0
    next_due_at: datetime | None = None
    took: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class RunEnqueued:
    """A queue took a run, at ``at``."""

    run: Run
    at: datetime
    task_id: str = ""

    @property
    def lateness(self) -> timedelta | None:
        """How long after it was due, its jitter not counted; ``None`` for a manual run."""
        return None if self.run.due_at is None else max(self.at - self.run.due_at, timedelta(0))


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A pool of this process begins a run."""

    run: Run


@dataclass(frozen=True, slots=True)
class RunFailed:
    """A run was not delivered, or the task raised. ``retry_at`` is ``None`` when it is over.

    Then ``status`` is what the run has become: failed, or unknown if its queue may have it.
    """

    run: Run
    error: str
    retry_at: datetime | None = None
    status: str = RunStatus.FAILED


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run of the local pool ended well."""

    run: Run


@dataclass(frozen=True, slots=True)
class RunLost:
    """A run was executing in a process that died, or was told to stop and did not."""

    run: Run


@dataclass(frozen=True, slots=True)
class SlotsSkipped:
    """Slots of a job were recorded as skipped; both ends are slots, in UTC."""

    job_id: str
    reason: str
    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True)
class JobBroken:
    """A job cannot be planned until somebody mends it."""

    job_id: str
    error: str


@dataclass(frozen=True, slots=True)
class LockFailed:
    """The lock provider could not answer; ``decision`` is what ``ON_LOCK_ERROR`` made of it."""

    error: str
    decision: str


@dataclass(frozen=True, slots=True)
class TickFailed:
    """A tick ended in an error; the loop tries again after ``retry_in``."""

    error: BaseException
    retry_in: timedelta


@dataclass(frozen=True, slots=True)
class SignOfLife:
    """The store was told at ``at`` that this replica lives and does its work.

    Told between ticks and during long ones, too. While ticks fail there is none.
    """

    at: datetime


@dataclass(frozen=True, slots=True)
class StepFailed:
    """Something beside the claims went wrong; it is tried again, the tick goes on."""

    step: str
    error: BaseException


@dataclass(frozen=True, slots=True)
class SchedulerStarted:
    """The loop began."""

    replica_id: str


@dataclass(frozen=True, slots=True)
class SchedulerStopped:
    """The loop ended. ``unfinished`` runs of the local pool were given up."""

    replica_id: str
    unfinished: int


Event: TypeAlias = (
    TickResult
    | RunEnqueued
    | RunStarted
    | RunFailed
    | RunFinished
    | RunLost
    | SlotsSkipped
    | JobBroken
    | LockFailed
    | TickFailed
    | SignOfLife
    | StepFailed
    | SchedulerStarted
    | SchedulerStopped
)
