"""From "every so often, counted from a run" to an expression, where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ...core.fields import DAY_OF_WEEK, HOUR, MINUTE
from ..entries import CannotImport, Runs
from ._respelling import spell

_HOUR = 60
_DAY = 24 * _HOUR
_WEEK = 7 * _DAY


def interval_expression(every: timedelta, anchor: datetime) -> str:
    """Return an expression, to be read in UTC, whose slots are ``anchor`` and all ``every`` on.

    Seconds of the anchor are dropped. Only what divides an hour, a day or a week evenly can be
    said. Raises :class:`CannotImport` for the rest.
    """
    if every <= timedelta(0):
        raise CannotImport(f"Its interval, {in_words(every)}, is not above zero.")
    minutes, rest = divmod(every, timedelta(minutes=1))
    if rest:
        raise CannotImport(
            f"Every {in_words(every)} is no whole number of minutes, and a minute is the shortest "
            "step here."
        )
    at = anchor.astimezone(UTC)
    minute, hour = [at.minute], list(range(24))
    weekday = list(range(7))
    if _HOUR % minutes == 0:
        minute = list(range(at.minute % minutes, _HOUR, minutes))
    elif minutes % _HOUR == 0 and _DAY % minutes == 0:
        step = minutes // _HOUR
        hour = list(range(at.hour % step, 24, step))
    elif minutes == _WEEK:
        hour, weekday = [at.hour], [at.isoweekday() % 7]
    else:
        raise CannotImport(
            f"Every {in_words(every)} does not come at the same times of every hour, day or week: "
            "choose an interval that divides one of them evenly."
        )
    return f"{spell(MINUTE, minute)} {spell(HOUR, hour)} * * {spell(DAY_OF_WEEK, weekday)}"


def interval_runs(every: timedelta, anchor: datetime) -> Runs:
    """Return the runs at ``anchor`` and all ``every`` on."""

    def runs(after: datetime) -> Iterator[datetime]:
        steps = max(0, (after - anchor) // every + 1)
        while True:
            try:
                moment = anchor + every * steps
            except OverflowError:
                return
            yield moment
            steps += 1

    return runs


def in_words(every: timedelta) -> str:
    """Return ``90 minutes``: in the largest unit that needs no fraction."""
    for name, unit in (
        ("days", timedelta(days=1)),
        ("hours", timedelta(hours=1)),
        ("minutes", timedelta(minutes=1)),
        ("seconds", timedelta(seconds=1)),
    ):
        if every and not every % unit:
            return f"{every // unit} {name}" if every != unit else f"1 {name.removesuffix('s')}"
    return f"{every / timedelta(seconds=1):g} seconds"
