"""What is told of the health of the scheduler: plain values, moments aware and in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

MOST = 1_000
"""No count goes beyond this: there it means "or more"."""


class ReplicaState(StrEnum):
    """What is known of a replica by its signs of life."""

    RUNNING = "running"
    SILENT = "silent"
    """It never said that it stops, but nothing was heard of it for too long."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ReplicaHealth:
    """A scheduler process. ``age`` is that of its last sign of life, by the database's clock."""

    replica_id: str
    state: ReplicaState
    age: timedelta
    started_at: datetime
    seen_at: datetime
    stopped_at: datetime | None
    tick_interval: timedelta
    version: str
    tzdata_version: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Slots that nobody has claimed, or runs that no queue has taken, although it is high time.

    The oldest one by its job; ``slot`` is ``None`` for a run.
    """

    count: int = 0
    job_id: str = ""
    slot: datetime | None = None
    lateness: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Jobs:
    """How many jobs are in some state, and the ids of the first few."""

    count: int = 0
    job_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PausedSince:
    """The pause of everything that lasts."""

    since: datetime
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong. ``code`` stays the same for ever, ``text`` and ``remedy`` may not.

    ``text`` may name jobs, replicas and reasons, and quote the database: not for everybody's eyes.
    """

    code: str
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """How the scheduler is, as of ``read_at`` by the database's clock.

    ``read_at`` is ``None`` if the database could not be read; then one of ``problems`` says why and
    there are no figures. ``replicas`` come with the newest sign of life first. No count goes beyond
    :data:`~django_dyncron.health.MOST`. ``waiting_runs`` are runs that nobody has taken up although
    their time or their lease has ended, ``undelivered`` those that were tried again and again.
    ``skew`` is how far this host's clock is ahead of the
    database's. ``max_age`` is the one that was asked for.
    """

    problems: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    read_at: datetime | None = None
    replicas: tuple[ReplicaHealth, ...] = ()
    overdue: Waiting = Waiting()
    broken: Jobs = Jobs()
    failing: Jobs = Jobs()
    waiting_runs: int = 0
    undelivered: Waiting = Waiting()
    paused: PausedSince | None = None
    next_due_at: datetime | None = None
    skew: timedelta = timedelta(0)
    max_age: timedelta | None = None

    @property
    def is_healthy(self) -> bool:
        return not self.problems

    @property
    def is_readable(self) -> bool:
        """Whether the database could be read, so that there are figures."""
        return self.read_at is not None

    def replicas_in(self, state: ReplicaState) -> list[ReplicaHealth]:
        """Return the replicas in a state, the last one heard of first."""
        return [replica for replica in self.replicas if replica.state is state]
