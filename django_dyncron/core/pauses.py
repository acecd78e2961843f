"""Pauses of everything: intervals in which no slot is run, and how they cut up a stretch of time.

A stretch is half-open like what a schedule is asked for, later than ``after`` and not later than
``until``; a pause the other way round, from ``since`` on and before ``until``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PausedSpan:
    """A pause of everything, both instants in UTC; ``until`` is ``None`` while it lasts."""

    since: datetime
    until: datetime | None = None

    def covers(self, instant: datetime) -> bool:
        """Tell whether everything is paused at ``instant``."""
        return self.since <= instant and (self.until is None or instant < self.until)


class Stretch(NamedTuple):
    """The time later than ``after`` and not later than ``until``, paused throughout or not."""

    after: datetime
    until: datetime
    is_paused: bool = False


def stretches(
    after: datetime, until: datetime, now: datetime, pauses: Sequence[PausedSpan]
) -> list[Stretch]:
    """Cut ``(after, until]`` at ``pauses``, which are in the order of their beginnings.

    While a pause lasts at ``now``, all of it counts as paused: what nobody got to before somebody
    pressed the button must not start after it.
    """
    if any(pause.covers(now) for pause in pauses):
        return [Stretch(after, until, is_paused=True)]
    return list(_cut(after, until, pauses))


def _cut(after: datetime, until: datetime, pauses: Sequence[PausedSpan]) -> Iterator[Stretch]:
    for pause in pauses:
        begin = max(after, pause.since - _INSTANT)
        end = until if pause.until is None else min(until, pause.until - _INSTANT)
        if begin < end:
            if after < begin:
                yield Stretch(after, begin)
            yield Stretch(begin, end, is_paused=True)
            after = end
    if after < until:
        yield Stretch(after, until)
