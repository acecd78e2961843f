"""Asking the database: a fixed number of statements, each along an index, each count capped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import Error, InterfaceError, OperationalError, connections
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from ..conf import database_alias, read_settings
from ..core.policies import RunStatus
from ..core.text import one_line
from ..models import CronJob, CronRun, Pause, Replica
from ..outlook import JobState, overdue, planning_rules, rows_in
from ..repositories.horizon import look_ahead
from ..repositories.lacking import lacks_tables
from .values import MOST, Jobs, PausedSince, ReplicaHealth, ReplicaState, Waiting

_REPLICAS = 100
"""So many, the ones last heard of; those that stopped long ago are forgotten anyway."""
_NAMED = 5
_HAS_ERROR = Q(last_error__gt="")
_PATIENCE = timedelta(seconds=60)
"""How long after a tick that should have swept it a run may wait."""
_UNDELIVERED_AFTER = timedelta(minutes=5)
_UNDELIVERED_ATTEMPTS = 4
"""So often it was tried, too: a run that has waited for its jitter is old at its first attempt."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What the database says, not judged yet. ``wanted`` is the one replica asked after."""

    read_at: datetime
    skew: timedelta
    replicas: tuple[Replica, ...]
    wanted: Replica | None
    overdue: Waiting
    broken: Jobs
    failing: Jobs
    waiting_runs: int
    undelivered: Waiting
    paused: PausedSince | None
    next_due_at: datetime | None
    is_idle: bool


class Unreadable(Exception):
    """The figures cannot be had; ``code`` says why."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def alias_or_default(using: str | None) -> str:
    """Return ``using`` or else the alias of the scheduler's database."""
    return using or database_alias(read_settings()[0])


def read_figures(using: str, replica_id: str | None = None) -> Figures:
    """Read everything; raise :class:`Unreadable` if the database is away or lacks tables."""
    try:
        return _read_again_if_disconnected(using, replica_id)
    except Error as error:
        raise _unreadable(using, error) from error


def read_replicas(
    using: str | None = None, max_age: timedelta | None = None
) -> list[ReplicaHealth]:
    """Return the replicas, the last one heard of first, judged by the database's clock.

    ``max_age`` is how old a sign of life may be, by default a minute more than the replica's own
    tick interval. Raises what the database raises.
    """
    newest = with_database_time(Replica.objects.using(alias_or_default(using)))
    rows: list[Any] = list(newest.order_by("-seen_at")[:_REPLICAS])
    return [judge_replica(row, row.database_now, max_age) for row in rows]


def with_database_time(replicas: QuerySet[Replica]) -> QuerySet[Replica]:
    """Annotate rows with the database's time, the one they are judged by, as ``database_now``."""
    return replicas.annotate(database_now=Now())


def judge_replica(
    replica: Replica, now: datetime, max_age: timedelta | None = None
) -> ReplicaHealth:
    """Tell how a replica is at ``now``, the database's time."""
    if replica.stopped_at is not None:
        state = ReplicaState.STOPPED
    elif replica.is_heard_at(now, max_age):
        state = ReplicaState.RUNNING
    else:
        state = ReplicaState.SILENT
    return ReplicaHealth(
        replica_id=replica.replica_id,
        state=state,
        age=now - replica.seen_at,
        started_at=replica.started_at,
        seen_at=replica.seen_at,
        stopped_at=replica.stopped_at,
        tick_interval=timedelta(seconds=replica.tick_interval_seconds),
        version=replica.version,
        tzdata_version=replica.tzdata_version,
    )


def _read_again_if_disconnected(using: str, replica_id: str | None) -> Figures:
    """Read; once more if the connection may have been closed while nobody used it.

    Not as the repository does it: a probe does not connect twice in vain, and it may be asked
    inside a transaction, whose connection is not its own to close.
    """
    connection = connections[using]
    was_open = connection.connection is not None and not connection.in_atomic_block
    try:
        return _read(using, replica_id)
    except (OperationalError, InterfaceError):
        if not was_open:
            raise
        connection.close()
        return _read(using, replica_id)


def _read(using: str, replica_id: str | None) -> Figures:
    # Connecting may take long, and is no part of the difference between two clocks.
    connections[using].ensure_connection()
    before = datetime.now(UTC)
    horizon = look_ahead(using, None)
    skew = before + (datetime.now(UTC) - before) / 2 - horizon.now
    now, rules = horizon.now, planning_rules()
    jobs = CronJob.objects.using(using)
    runs = CronRun.objects.using(using)
    waiting = runs.filter(lease_until__lt=now - rules.tick_interval - _PATIENCE)
    return Figures(
        read_at=now,
        skew=skew,
        replicas=_newest(using),
        wanted=None if replica_id is None else _one(using, replica_id),
        overdue=_overdue(jobs.filter(overdue(now, rules)), now),
        broken=_jobs(jobs.filter(_HAS_ERROR & rows_in(JobState.BROKEN))),
        failing=_jobs(jobs.filter(_HAS_ERROR & rows_in(JobState.FAILING))),
        waiting_runs=_count(waiting),
        undelivered=_undelivered(runs, now),
        paused=_paused(using),
        next_due_at=horizon.next_due_at if horizon.next_due_at != horizon.now else None,
        is_idle=horizon.next_due_at is None,
    )


def _newest(using: str) -> tuple[Replica, ...]:
    return tuple(Replica.objects.using(using).order_by("-seen_at")[:_REPLICAS])


def _one(using: str, replica_id: str) -> Replica | None:
    replica: Replica | None = Replica.objects.using(using).filter(pk=replica_id).first()
    return replica


def _count(rows: QuerySet[Any]) -> int:
    return rows.order_by()[:MOST].count()


def _jobs(rows: QuerySet[CronJob]) -> Jobs:
    found = list(rows.order_by().values_list("job_id", flat=True)[:MOST])
    return Jobs(len(found), tuple(sorted(found)[:_NAMED]))


def _overdue(rows: QuerySet[CronJob], now: datetime) -> Waiting:
    count = _count(rows)
    if not count:
        return Waiting()
    try:
        oldest = rows.order_by("due_at").values_list("job_id", "due_at").first()
    except (ValueError, OverflowError):
        # What was written by hand is no moment. The next tick marks the row as broken.
        oldest = None
    if oldest is None or oldest[1] is None:
        return Waiting(count)
    return Waiting(count, oldest[0], oldest[1], now - oldest[1])


def _undelivered(runs: QuerySet[CronRun], now: datetime) -> Waiting:
    """Return the runs whose queue did not take them, however often it was asked."""
    # Along the index of leases, of which there are as many as unfinished runs. What waits for a
    # thread of a local pool has no error.
    refused = runs.filter(
        lease_until__isnull=False,
        status=RunStatus.CLAIMED,
        attempts__gte=_UNDELIVERED_ATTEMPTS,
        created_at__lt=now - _UNDELIVERED_AFTER,
    ).exclude(error="")
    found = list(refused.order_by("created_at").values_list("job_id", "created_at")[:MOST])
    if not found:
        return Waiting()
    job_id, since = found[0]
    return Waiting(len(found), job_id, lateness=now - since)


def _paused(using: str) -> PausedSince | None:
    pause = Pause.objects.using(using).filter(until__isnull=True).first()
    return None if pause is None else PausedSince(pause.since, pause.reason, pause.paused_by)


def _unreadable(using: str, error: Error) -> Unreadable:
    text = one_line(error)
    if lacks_tables(using, error):
        return Unreadable("tables_missing", f"Database {using!r} lacks tables: {text}")
    return Unreadable("database_away", f"Database {using!r} cannot be read: {text}")
