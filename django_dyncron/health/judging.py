"""Judging the figures: what is a problem, what a warning, and what to do about it.

A problem means that cron jobs are not run. A warning means that somebody should look, some time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from .. import __version__
from ..core.text import printable
from ..core.tzdata import tzdata_version
from .reading import (
    Figures,
    Unreadable,
    alias_or_default,
    judge_replica,
    read_figures,
)
from .values import MOST, Finding, Health, Jobs, ReplicaHealth, ReplicaState
from .words import counted, duration, listed, moment

_MISSED_FOR = timedelta(days=7)
"""Whoever did not look for a silent replica by then did not expect it back."""
_MOST_SKEW = timedelta(seconds=5)

_REMEDIES = {
    "database_away": "Look after the database, and after this host's way to it.",
    "database_slow": "Look after the database: it is busy, or the way to it is cut.",
    "tables_missing": 'Run "manage.py migrate".',
    "no_replica": (
        'Start "manage.py run_dyncron". If it runs, read its log: ticks fail, or one is stuck.'
    ),
    "overdue": (
        'Read the log of the replicas: look for "tick failed", "tick stuck" and "lock provider". '
        "A transaction that was left open may hold the rows. After an outage it takes a while."
    ),
    "runs_undelivered": "Look after their queue; the history says what it answers.",
    "replica_silent": "Look whether its process is alive; if so, read its log.",
    "jobs_broken": "Mend them in the admin: their schedules cannot be worked out.",
    "runs_waiting": "Read the log of the replicas: nobody takes up what another one left behind.",
    "everything_paused": 'Resume in the admin, or by "manage.py dyncron_resume --all".',
    "clock_skew": "Let NTP set the clocks. Cron jobs run by the database's, whatever this one is.",
    "tzdata_mismatch": "Bring the tzdata package or the system's time zones to one release.",
    "version_mismatch": "Bring all processes to one release of django-dyncron.",
}


def read_health(
    using: str | None = None,
    max_age: timedelta | None = None,
    replica_id: str | None = None,
) -> Health:
    """Tell how the scheduler is.

    ``using`` is a database alias, by default the scheduler's. ``max_age`` is how old a sign of life
    may be, by default a minute more than the tick interval of whoever gave it. With a
    ``replica_id`` the question is only whether that one replica lives. A database that cannot be
    read is told of as a problem, not raised; for one that hangs, see :func:`read_health_in_time`.
    """
    try:
        figures = read_figures(alias_or_default(using), replica_id)
    except Unreadable as error:
        return unreadable(error, max_age)
    return judge(figures, max_age, replica_id)


def unreadable(error: Unreadable, max_age: timedelta | None) -> Health:
    """Return the health of a scheduler whose database cannot be read."""
    return Health(problems=(_finding(error.code, str(error)),), max_age=max_age)


def judge(figures: Figures, max_age: timedelta | None, replica_id: str | None = None) -> Health:
    """Judge ``figures``; see :func:`read_health`."""
    now = figures.read_at
    replicas = [judge_replica(replica, now, max_age) for replica in figures.replicas]
    # Whoever restarts a replica because of what all of them leave undone makes it worse.
    undone, broken = [*_overdue(figures), *_undelivered(figures)], [*_broken(figures)]
    if replica_id is None:
        problems = [*_nobody(replicas), *undone]
        warnings = [*_silent(replicas)]
        (problems if figures.is_idle else warnings).extend(broken)
    else:
        wanted = None
        if figures.wanted is not None:
            wanted = judge_replica(figures.wanted, now, max_age)
        if wanted and all(replica.replica_id != replica_id for replica in replicas):
            replicas.append(wanted)
        problems = [*_of_one(replica_id, wanted, now)]
        warnings = [*undone, *broken]
    return Health(
        problems=tuple(problems),
        warnings=(*warnings, *_of_figures(figures), *_mismatches(replicas)),
        read_at=now,
        replicas=tuple(replicas),
        overdue=figures.overdue,
        broken=figures.broken,
        failing=figures.failing,
        waiting_runs=figures.waiting_runs,
        undelivered=figures.undelivered,
        paused=figures.paused,
        next_due_at=figures.next_due_at,
        skew=figures.skew,
        max_age=max_age,
    )


def _finding(code: str, text: str) -> Finding:
    return Finding(code, printable(text), _REMEDIES.get(code, ""))


# --- replicas -------------------------------------------------------------------------------------


def _nobody(replicas: list[ReplicaHealth]) -> Iterator[Finding]:
    if any(replica.state is ReplicaState.RUNNING for replica in replicas):
        return
    if not replicas:
        yield _finding("no_replica", "No scheduler has ever run on this database.")
        return
    last = replicas[0]
    how = "run" if last.state is ReplicaState.STOPPED else "been heard of"
    yield _finding(
        "no_replica",
        f"No scheduler has {how} for {duration(last.age)} "
        f"(last: {last.replica_id}, {moment(last.seen_at)}).",
    )


def _of_one(replica_id: str, wanted: ReplicaHealth | None, now: datetime) -> Iterator[Finding]:
    if wanted is None:
        yield _finding("replica_unknown", f"There is no replica {replica_id}.")
    elif wanted.state is ReplicaState.SILENT:
        text = f"Replica {replica_id} has not been heard of for {duration(wanted.age)}."
        yield _finding("replica_silent", text)
    elif wanted.stopped_at is not None:
        ago = duration(now - wanted.stopped_at)
        yield _finding("replica_stopped", f"Replica {replica_id} stopped {ago} ago.")


def _silent(replicas: list[ReplicaHealth]) -> Iterator[Finding]:
    """Tell of replicas that fell silent beside others; if all did, that is told already."""
    silent = [
        replica
        for replica in replicas
        if replica.state is ReplicaState.SILENT and replica.age <= _MISSED_FOR
    ]
    if silent and any(replica.state is ReplicaState.RUNNING for replica in replicas):
        names = listed([replica.replica_id for replica in silent])
        latest = duration(silent[0].age)
        yield _finding("replica_silent", f"Fell silent: {names}; the latest {latest} ago.")


def _mismatches(replicas: list[ReplicaHealth]) -> Iterator[Finding]:
    running = [replica for replica in replicas if replica.state is ReplicaState.RUNNING]
    versions = [replica.version for replica in running]
    tzdata = [replica.tzdata_version for replica in running]
    yield from _differing("version_mismatch", "django-dyncron", versions, __version__)
    yield from _differing("tzdata_mismatch", "time zone data", tzdata, tzdata_version())


def _differing(code: str, what: str, theirs: Iterable[str], ours: str) -> Iterator[Finding]:
    known = {each for each in theirs if each}
    if known - {ours}:
        among = listed(sorted(known))
        yield _finding(code, f"Replicas run {what} {among}, this process {ours or 'unknown'}.")


# --- figures --------------------------------------------------------------------------------------


def _overdue(figures: Figures) -> Iterator[Finding]:
    overdue = figures.overdue
    if not overdue.count:
        return
    text = f"Slots that wait for a scheduler: {counted(overdue.count)}"
    if overdue.lateness is not None:
        text += f"; the oldest, of {overdue.job_id}, for {duration(overdue.lateness)}"
    yield _finding("overdue", f"{text}.")


def _undelivered(figures: Figures) -> Iterator[Finding]:
    waiting = figures.undelivered
    if waiting.lateness is not None:
        text = (
            f"Runs that their queue does not take: {counted(waiting.count)}"
            f"; the oldest, of {waiting.job_id}, for {duration(waiting.lateness)}."
        )
        yield _finding("runs_undelivered", text)


def _broken(figures: Figures) -> Iterator[Finding]:
    if figures.broken.count:
        rest = ", and no other job has a next run" if figures.is_idle else ""
        yield _finding("jobs_broken", f"Broken: {_named(figures.broken)}{rest}.")


def _of_figures(figures: Figures) -> Iterator[Finding]:
    if figures.waiting_runs:
        yield _finding("runs_waiting", f"Runs taken up by nobody: {counted(figures.waiting_runs)}.")
    if figures.paused is not None:
        by = f" by {figures.paused.by}" if figures.paused.by else ""
        reason = f": {figures.paused.reason}" if figures.paused.reason else ""
        since = moment(figures.paused.since)
        yield _finding("everything_paused", f"Everything is paused since {since}{by}{reason}.")
    if abs(figures.skew) > _MOST_SKEW:
        way = "ahead of" if figures.skew > timedelta(0) else "behind"
        text = f"This host's clock is {duration(abs(figures.skew))} {way} the database's."
        yield _finding("clock_skew", text)


def _named(jobs: Jobs) -> str:
    more = jobs.count - len(jobs.job_ids)
    rest = f" and {more} {'or more ' if jobs.count >= MOST else ''}others" if more else ""
    return f"{listed(jobs.job_ids)}{rest}"
