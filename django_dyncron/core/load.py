"""The load that schedules plan: counted by bit masks of minutes, never run by run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .definitions import aware_utc
from .schedule import CronSchedule

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Demand:
    """So many ``jobs`` that share a schedule and its dates; a fraction if that is an estimate."""

    schedule: CronSchedule
    jobs: float = 1
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    def bits(self, first: datetime, minutes: int) -> int:
        """Return a mask of the slots in so many ``minutes`` from ``first`` on, lowest bit first."""
        last = first + (minutes - 1) * _MINUTE
        mask = self.schedule.bits_between(first - _MINUTE, last)
        if self.starts_at is not None:
            before = max(-((first - aware_utc(self.starts_at)) // _MINUTE), 0)
            mask = mask >> before << before
        if self.ends_at is not None:
            kept = max((aware_utc(self.ends_at) - first) // _MINUTE + 1, 0)
            mask &= (1 << min(kept, minutes)) - 1
        return mask


class LoadCount:
    """Counts the runs between each two of ``bounds``, whole minutes in UTC, ascending.

    ``minutes`` counts those of each minute in a window of bounds besides: from the one numbered
    ``first`` up to, and without, the one numbered ``last``.
    """

    def __init__(self, bounds: Sequence[datetime], first: int, last: int) -> None:
        self._begin = bounds[0]
        self._places = [(bound - self._begin) // _MINUTE for bound in bounds]
        self._first = self._places[first]
        length = self._places[last] - self._first
        self._window = (1 << length) - 1
        self.stretches = [0.0] * (len(bounds) - 1)
        self.minutes = [0.0] * length

    def add(self, demands: Iterable[Demand]) -> None:
        """Count the runs of ``demands``."""
        of_window: dict[int, float] = {}
        for demand in demands:
            mask = demand.bits(self._begin, self._places[-1])
            if mask:
                self._add_stretches(mask, demand.jobs)
                window = mask >> self._first & self._window
                of_window[window] = of_window.get(window, 0) + demand.jobs
        for mask, jobs in of_window.items():
            for minute, digit in enumerate(reversed(f"{mask:b}")):
                if digit == "1":
                    self.minutes[minute] += jobs

    def _add_stretches(self, mask: int, jobs: float) -> None:
        place = 0
        for number, end in enumerate(self._places[1:]):
            length = end - place
            count = (mask & (1 << length) - 1).bit_count()
            mask >>= length
            place = end
            self.stretches[number] += count * jobs
