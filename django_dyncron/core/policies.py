"""The closed vocabularies: every choice a cron job or a run can hold, spelt once."""

from __future__ import annotations

from enum import StrEnum


class MisfirePolicy(StrEnum):
    """What to do with slots that came due while no scheduler looked."""

    FIRE_ONCE = "fire_once"
    """Run the latest missed slot, record the others as skipped."""
    FIRE_ALL = "fire_all"
    """Run the newest ``max_catch_up`` missed slots, oldest first."""
    SKIP = "skip"
    """Run the latest slot only if it is hardly late, record the others as skipped."""


class OverlapPolicy(StrEnum):
    """What to do with a slot that comes due while an earlier run of its job is unfinished."""

    ALLOW = "allow"
    SKIP = "skip"


class Delivery(StrEnum):
    """What a job asks of a queue that cannot promise exactly one delivery."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class RunKind(StrEnum):
    """Who asked for a run: the schedule, or a person."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"


class RunStatus(StrEnum):
    """How far a run has come."""

    CLAIMED = "claimed"
    """One replica owns it and is about to hand it to the queue."""
    ENQUEUED = "enqueued"
    """The queue has it."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It was not run, on purpose: see its reason."""
    UNKNOWN = "unknown"
    """It may or may not have reached the queue, and the job forbids a second try."""
    LOST = "lost"
    """It started in a process that died."""


UNFINISHED = (RunStatus.CLAIMED, RunStatus.ENQUEUED, RunStatus.RUNNING)


class SkipReason(StrEnum):
    """Why a slot was recorded as skipped."""

    MISFIRE = "misfire"
    OVERLAP = "overlap"
    PAUSED = "paused"
    SUPERSEDED = "superseded"
    DELETED = "deleted"


class OnLockError(StrEnum):
    """What to do when the lock provider cannot answer."""

    SKIP = "skip"
    """Leave the slot for the next tick."""
    CLAIM = "claim"
    """Go on: the durable claim decides."""
