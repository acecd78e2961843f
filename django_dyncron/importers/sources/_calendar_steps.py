"""Steps through the calendar, each counted from the one before it, as django-q2 takes them."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from ..entries import Runs


def local_steps(first: datetime, zone: ZoneInfo, *, days: int = 0, months: int = 0) -> Runs:
    """Return steps of days or months that keep the time of day in ``zone``.

    Months are counted by the date in UTC; a day that one of them lacks becomes its last, and stays
    that.
    """

    def step(moment: datetime) -> datetime:
        added = timedelta(days=days) if days else _months_on(moment, months) - moment
        following = moment + timedelta(days=added.days)
        # By how much the clocks have been changed in between.
        offsets = (each.astimezone(zone).utcoffset() for each in (following, moment))
        now, then = (offset or timedelta(0) for offset in offsets)
        return following - (now - then)

    return _steps(first, step)


def yearly_steps(first: datetime) -> Runs:
    """Return steps of a year that keep date and time in UTC."""
    return _steps(first, lambda moment: _months_on(moment, 12))


def _steps(first: datetime, step: Callable[[datetime], datetime]) -> Runs:
    def runs(after: datetime) -> Iterator[datetime]:
        moment = first.astimezone(UTC)
        while True:
            if moment > after:
                yield moment
            try:
                moment = step(moment)
            except (OverflowError, ValueError):  # the calendar ends
                return

    return runs


def _months_on(moment: datetime, months: int) -> datetime:
    years, month = divmod(moment.month - 1 + months, 12)
    year, month = moment.year + years, month + 1
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))
