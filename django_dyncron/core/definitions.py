"""The values that travel from the repository to the queue: jobs, slots and runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import NAMESPACE_DNS, UUID, uuid5

from .policies import Delivery, MisfirePolicy, OverlapPolicy, RunKind

_NAMESPACE = uuid5(NAMESPACE_DNS, "django-dyncron")


@dataclass(frozen=True, slots=True)
class CronJobDefinition:
    """One cron job as a repository knows it.

    Values a repository may get wrong without harm are mended here: a naive ``last_run_at`` is
    read as UTC and a ``payload`` of ``None`` as ``{}``. Every other fault is found when the job is
    planned, so that it marks this job and no other.

    ``payload`` holds the keyword arguments of the task and is forwarded untouched. A blank
    ``time_zone`` or ``enqueuer`` and a ``catch_up_window_seconds`` of ``None`` mean the
    scheduler's own.
    """

    job_id: str
    task_name: str
    cron_expression: str
    payload: dict[str, Any] = field(default_factory=dict)
    queue: str = "default"
    is_active: bool = True
    last_run_at: datetime | None = None
    _: KW_ONLY
    description: str = ""
    time_zone: str = ""
    dst_gap: str = "run_after"
    dst_fold: str = "first"
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    misfire_policy: str = MisfirePolicy.FIRE_ONCE
    max_catch_up: int = 100
    catch_up_window_seconds: int | None = None
    overlap_policy: str = OverlapPolicy.ALLOW
    max_run_seconds: int = 86_400
    jitter_seconds: int = 0
    delivery: str = Delivery.AT_LEAST_ONCE
    enqueuer: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    next_run_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.payload is None:
            object.__setattr__(self, "payload", {})
        last_run_at = self.last_run_at
        if isinstance(last_run_at, datetime) and last_run_at.tzinfo is None:
            object.__setattr__(self, "last_run_at", last_run_at.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Slot:
    """One scheduled minute of one job: the unit that is claimed once.

    ``scheduled_for`` must be aware; it is kept in UTC. Raises :class:`ValueError` for a naive one.
    """

    job_id: str
    scheduled_for: datetime

    def __post_init__(self) -> None:
        if self.scheduled_for.tzinfo is not UTC:
            object.__setattr__(self, "scheduled_for", aware_utc(self.scheduled_for))

    def lock_key(self, prefix: str) -> str:
        """Return the lock key of this slot, the minute written in UTC."""
        return f"{prefix}:cron_lock:{self.job_id}:{self.scheduled_for.isoformat()}"

    def run_id(self, prefix: str) -> UUID:
        """Return the identity of this slot's run: the same in every replica, for ever.

        It is made from seconds since the epoch, never from local time, which repeats itself
        when clocks go back.
        """
        seconds = int(self.scheduled_for.timestamp())
        return uuid5(_installation(prefix), f"{self.job_id}:{seconds}")


def range_id(prefix: str, job_id: str, first: datetime, last: datetime) -> UUID:
    """Return the identity of a stretch of slots that is recorded as one row."""
    seconds = (int(aware_utc(moment).timestamp()) for moment in (first, last))
    return uuid5(_installation(prefix), ":".join([job_id, *map(str, seconds)]))


@dataclass(frozen=True, slots=True)
class Run:
    """A claimed run on its way to a queue: what to call, with what, and who it is.

    ``scheduled_for`` is the slot in UTC, or ``None`` for a manual run. ``attempts`` counts the
    deliveries begun, this one included; with none begun the run still waits for its time. No other
    replica may deliver it before ``lease_until`` (UTC, the store's clock). ``replica`` is who owned
    it when it was read; blank if nobody did. ``due_at`` is when it was to be handed over first: its
    slot and its jitter. A manual run, which is due whenever somebody gets to it, has none.
    """

    run_id: UUID
    job_id: str
    task_name: str
    payload: dict[str, Any]
    queue: str
    scheduled_for: datetime | None
    _: KW_ONLY
    kind: str = RunKind.SCHEDULED
    enqueuer: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    delivery: str = Delivery.AT_LEAST_ONCE
    catch_up_window_seconds: int | None = None
    attempts: int = 1
    created_at: datetime | None = None
    lease_until: datetime | None = None
    replica: str = ""
    due_at: datetime | None = None

    @classmethod
    def of(
        cls,
        job: CronJobDefinition,
        scheduled_for: datetime,
        *,
        prefix: str,
        at: datetime,
        lease: timedelta,
        deliver_at: datetime | None = None,
    ) -> Run:
        """Return the run of one slot of ``job``, claimed at ``at``, as the job stands now.

        One that is to be delivered later than ``at`` waits, for whoever sweeps then.
        """
        slot = Slot(job.job_id, scheduled_for)
        waits_until = deliver_at if deliver_at is not None and deliver_at > at else None
        return cls(
            run_id=slot.run_id(prefix),
            job_id=job.job_id,
            task_name=job.task_name,
            payload=job.payload,
            queue=job.queue,
            scheduled_for=slot.scheduled_for,
            enqueuer=job.enqueuer,
            options=job.options,
            delivery=job.delivery,
            catch_up_window_seconds=job.catch_up_window_seconds,
            attempts=0 if waits_until else 1,
            created_at=at,
            lease_until=waits_until or at + lease,
            due_at=deliver_at or slot.scheduled_for,
        )


def aware_utc(moment: datetime) -> datetime:
    """Return ``moment`` in UTC; raise :class:`ValueError` if it has no time zone."""
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        raise ValueError(f"{moment!r} has no time zone; pass an aware datetime.")
    return moment.astimezone(UTC)


@lru_cache(maxsize=16)
def _installation(prefix: str) -> UUID:
    return uuid5(_NAMESPACE, prefix)
