"""A stretch of time walked minute by minute in one zone, to be matched against many expressions."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

from .matching import Expression

MINUTE = dt.timedelta(minutes=1)
LONGEST_DST = 180
# A repeated wall time is told from the other pass by looking this far beyond the stretch.
MARGIN = 4 * 60


class WalkedWindow:
    """Every minute after ``after`` and until ``until``, UTC, with its local time.

    ``change`` is the clock change in the middle; it only tells a test where to look closely.
    """

    def __init__(
        self, zone: str, change: dt.datetime, after: dt.datetime, until: dt.datetime
    ) -> None:
        self.zone = zone
        self.change = change
        self.after = after
        self.until = until
        info = ZoneInfo(zone)
        first = after + MINUTE
        count = (until - after) // MINUTE
        self._instants = [first + i * MINUTE for i in range(-MARGIN, count + MARGIN)]
        self._walls = [
            instant.astimezone(info).replace(tzinfo=None, fold=0) for instant in self._instants
        ]
        self._passes = self._find_passes()
        self._skipped = self._find_skipped()

    def _find_passes(self) -> dict[int, int]:
        """Map each minute of a repeated hour to its pass, 1 or 2."""
        latest: dict[dt.datetime, int] = {}
        passes: dict[int, int] = {}
        for index, wall in enumerate(self._walls):
            earlier = latest.get(wall)
            if earlier is not None and index - earlier <= LONGEST_DST:
                passes[earlier], passes[index] = 1, 2
            latest[wall] = index
        return passes

    def _find_skipped(self) -> dict[int, list[dt.datetime]]:
        """Map the first minute after a gap to the wall minutes that the gap swallowed."""
        skipped: dict[int, list[dt.datetime]] = {}
        for index in range(1, len(self._walls)):
            size = (self._walls[index] - self._walls[index - 1]) // MINUTE - 1
            if 0 < size <= LONGEST_DST:
                skipped[index] = [self._walls[index - 1] + i * MINUTE for i in range(1, size + 1)]
        return skipped

    def slots(self, text: str, dst_gap: str, dst_fold: str) -> list[dt.datetime]:
        """List the instants in ``(after, until]`` at which ``text`` is due."""
        expression = Expression(text)
        dates = {wall.date(): False for wall in self._walls}
        dates = {date: expression.names_date(date) for date in dates}
        due = {
            index
            for index, wall in enumerate(self._walls)
            if expression.names_time(wall.hour, wall.minute) and dates[wall.date()]
        }
        if expression.is_fixed_time:
            due = self._fold_rule(due, dst_fold)
            if dst_gap == "run_after":
                due |= self._made_up(expression)
        inside = range(MARGIN, len(self._instants) - MARGIN)
        return [self._instants[index] for index in sorted(due) if index in inside]

    def _fold_rule(self, due: set[int], dst_fold: str) -> set[int]:
        unwanted = {"first": 2, "second": 1, "both": 0}[dst_fold]
        return {index for index in due if self._passes.get(index) != unwanted}

    def _made_up(self, expression: Expression) -> set[int]:
        return {
            index
            for index, walls in self._skipped.items()
            if any(
                expression.names_time(wall.hour, wall.minute) and expression.names_date(wall.date())
                for wall in walls
            )
        }
