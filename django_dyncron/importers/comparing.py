"""Whether a job will run when its source would have run it, and where not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import NamedTuple

from ..core.definitions import CronJobDefinition
from ..core.planning import PlanningRules, schedule_for
from ..core.schedule import CronSchedule
from ..core.zones import clock_changes, load_zone
from .entries import Runs

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = timedelta(microseconds=1)
_MINUTE = timedelta(minutes=1)
_YEAR = timedelta(days=366)
_AROUND_CHANGE = timedelta(hours=6)
_WALKED = 100
"""How many runs are compared from now on; after that, only those around clock changes."""
SHOWN = 3
"""How many of the next runs are told."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Runs that are not the same ``before`` and ``after`` an import, all in UTC.

    ``date`` is that of the clock change they are around, in the zone of the job, if there is one.
    """

    before: tuple[datetime, ...]
    after: tuple[datetime, ...]
    date: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The next runs by the rule of the source, if it has one, and by ours; and what differs."""

    before: tuple[datetime, ...] | None
    after: tuple[datetime, ...]
    differences: tuple[Difference, ...] = ()


class _Window(NamedTuple):
    """The hours around a clock change, ``since`` not included, and its date in the zone."""

    since: datetime
    until: datetime
    date: str


def compare(
    job: CronJobDefinition, runs: Runs | None, now: datetime, rules: PlanningRules
) -> Comparison:
    """Compare the coming year of ``job`` with ``runs``, as if neither were paused.

    Raises :class:`InvalidCronExpression`.
    """
    schedule = schedule_for(job, rules)
    ours = _slots(job, schedule)
    after = tuple(islice(ours(now), SHOWN))
    if runs is None:
        return Comparison(None, after)
    before = tuple(islice(runs(now), SHOWN))
    windows = _around_changes(schedule, now)
    found = [
        _in_between(runs, ours, now, windows),
        *(_in_window(runs, ours, window) for window in windows),
    ]
    return Comparison(before, after, tuple(each for each in found if each))


def _slots(job: CronJobDefinition, schedule: CronSchedule) -> Runs:
    """Return when ``job`` will run, as the runs of a source are told."""

    def slots(after: datetime) -> Iterator[datetime]:
        if job.starts_at is not None and job.starts_at > after:
            after = job.starts_at - _INSTANT
        while True:
            try:
                after = schedule.next_after(after)
            except OverflowError:
                return
            if job.ends_at is not None and after > job.ends_at:
                return
            yield after

    return slots


def _around_changes(schedule: CronSchedule, now: datetime) -> list[_Window]:
    """List the hours around each clock change of the coming year in the zone of a schedule."""
    zone = load_zone(schedule.time_zone)
    first = (now - _EPOCH) // _MINUTE
    windows = []
    for change in clock_changes(zone, first, first + _YEAR // _MINUTE):
        at = _EPOCH + change.at * _MINUTE
        date = at.astimezone(zone).date().isoformat()
        windows.append(_Window(max(now, at - _AROUND_CHANGE), at + _AROUND_CHANGE, date))
    return windows


def _in_window(runs: Runs, ours: Runs, window: _Window) -> Difference | None:
    theirs, here = (
        list(_minutes(takewhile(lambda moment: moment <= window.until, some(window.since))))
        for some in (runs, ours)
    )
    if theirs == here:
        return None
    return Difference(_only_in(theirs, here), _only_in(here, theirs), window.date)


def _in_between(runs: Runs, ours: Runs, now: datetime, windows: list[_Window]) -> Difference | None:
    """Return where the two first part outside the windows, in a year or a number of runs."""

    def ahead(some: Runs) -> Iterator[datetime]:
        for moment in _minutes(takewhile(lambda moment: moment <= now + _YEAR, some(now))):
            if not any(window.since < moment <= window.until for window in windows):
                yield moment

    theirs, here = ahead(runs), ahead(ours)
    for _ in range(_WALKED):
        before, after = next(theirs, None), next(here, None)
        if before != after:
            return Difference((before,) if before else (), (after,) if after else ())
        if before is None:
            break
    return None


def _minutes(runs: Iterator[datetime]) -> Iterator[datetime]:
    """Yield the minutes of ``runs``, each once: a slot is a whole minute."""
    latest = None
    for moment in runs:
        minute = moment.replace(second=0, microsecond=0)
        if minute != latest:
            yield minute
        latest = minute


def _only_in(some: list[datetime], others: list[datetime]) -> tuple[datetime, ...]:
    known = set(others)
    return tuple(moment for moment in some if moment not in known)
