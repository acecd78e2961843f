"""The search for slots, in whole minutes since 1970-01-01 00:00 UTC and without a datetime.

A search looks for matching *wall* minutes in the windows of a :class:`~.zones.Timeline`. These know
all about clock changes, so nothing here does.
"""

from __future__ import annotations

from .days import FIRST_DAY, LAST_DAY, MatchingDays
from .fields import CronFields
from .zones import MINUTES_PER_DAY, SPAN_BITS, Timeline

FIRST_MINUTE = FIRST_DAY * MINUTES_PER_DAY
LAST_MINUTE = (LAST_DAY + 1) * MINUTES_PER_DAY
"""The instants that are searched; both included."""


class SlotSearch:
    """Finds and counts the slots of five fields on a timeline."""

    __slots__ = ("_days", "_first_time", "_last_time", "_timeline", "_times")

    def __init__(self, fields: CronFields, days: MatchingDays, timeline: Timeline) -> None:
        self._days = days
        self._timeline = timeline
        self._times = sum(fields.minute.mask << 60 * hour for hour in fields.hour.values)
        """One bit for each minute of a day."""
        self._first_time = (self._times & -self._times).bit_length() - 1
        self._last_time = self._times.bit_length() - 1

    def first_from(self, earliest: int, latest: int = LAST_MINUTE) -> int | None:
        """Find the first slot in ``earliest`` to ``latest``, both included."""
        if earliest < FIRST_MINUTE:
            earliest = FIRST_MINUTE
        span = earliest >> SPAN_BITS
        while True:
            for start, end, offset, gap in self._timeline[span]:
                if end <= earliest:
                    continue
                begin = earliest if earliest > start else start - gap
                wall = self._wall_from(begin + offset)
                if wall is None:
                    return None
                slot = wall - offset
                if slot < end:
                    if slot < start:
                        slot = start
                    return slot if slot <= latest else None
            if span >= latest >> SPAN_BITS:
                return None
            # On to the span of the next matching wall minute, give or take the greatest offset. A
            # day early, because clocks may go back at the border of two spans.
            wall = self._wall_from((span + 1 << SPAN_BITS) - MINUTES_PER_DAY)
            if wall is None:
                return None
            span = max(span + 1, (wall >> SPAN_BITS) - 1)

    def last_until(self, latest: int, earliest: int) -> int | None:
        """Find the last slot in ``earliest`` to ``latest``, both included."""
        if latest > LAST_MINUTE:
            latest = LAST_MINUTE
        span = latest >> SPAN_BITS
        while span >= earliest >> SPAN_BITS:
            for start, end, offset, gap in reversed(self._timeline[span]):
                if start > latest:
                    continue
                wall = self._wall_until(min(latest, end - 1) + offset)
                if wall is None:
                    return None
                if wall >= start - gap + offset:
                    slot = max(wall - offset, start)
                    return slot if slot >= earliest else None
            wall = self._wall_until((span << SPAN_BITS) + MINUTES_PER_DAY)
            if wall is None:
                return None
            span = min(span - 1, (wall >> SPAN_BITS) + 1)
        return None

    def count(self, earliest: int, latest: int) -> int:
        """Count the slots in ``earliest`` to ``latest``, both included, without visiting them."""
        earliest, latest = max(earliest, FIRST_MINUTE), min(latest, LAST_MINUTE)
        total = 0
        for span in range(earliest >> SPAN_BITS, (latest >> SPAN_BITS) + 1):
            for start, end, offset, gap in self._timeline[span]:
                first, last = max(earliest, start), min(latest, end - 1)
                if first <= last:
                    total += self._count_walls(first + offset, last + offset)
                    if gap and first == start:
                        total += self._is_made_up(start + offset, gap)
        return total

    def bits(self, earliest: int, latest: int) -> int:
        """Return a mask of the slots in ``earliest`` to ``latest``, whose lowest bit is earliest.

        Meant for some days; what is searched must hold both.
        """
        mask = 0
        for span in range(earliest >> SPAN_BITS, (latest >> SPAN_BITS) + 1):
            for start, end, offset, gap in self._timeline[span]:
                first, last = max(earliest, start), min(latest, end - 1)
                if first <= last:
                    mask |= self._wall_bits(first + offset, last + offset) << first - earliest
                    if gap and first == start and self._is_made_up(start + offset, gap):
                        mask |= 1 << first - earliest
        return mask

    def _is_made_up(self, wall: int, gap: int) -> bool:
        """Tell whether ``wall`` is a slot only because of the wall minutes skipped before it."""
        skipped = self._wall_from(wall - gap)
        return skipped is not None and skipped < wall and self._wall_from(wall) != wall

    def _wall_from(self, wall: int) -> int | None:
        """Find the first matching wall minute at or after ``wall``."""
        day, minute = divmod(wall, MINUTES_PER_DAY)
        times = self._times >> minute
        found = self._days.first_from(day if times else day + 1)
        if found == day:
            return wall + (times & -times).bit_length() - 1
        return None if found is None else found * MINUTES_PER_DAY + self._first_time

    def _wall_until(self, wall: int) -> int | None:
        """Find the last matching wall minute at or before ``wall``."""
        day, minute = divmod(wall, MINUTES_PER_DAY)
        times = self._times & (2 << minute) - 1
        found = self._days.last_until(day if times else day - 1)
        if found == day:
            return day * MINUTES_PER_DAY + times.bit_length() - 1
        return None if found is None else found * MINUTES_PER_DAY + self._last_time

    def _count_walls(self, first: int, last: int) -> int:
        first_day, first_minute = divmod(first, MINUTES_PER_DAY)
        last_day, last_minute = divmod(last, MINUTES_PER_DAY)
        from_first = self._times >> first_minute << first_minute
        to_last = self._times & (2 << last_minute) - 1
        if first_day == last_day:
            return (
                (from_first & to_last).bit_count()
                if self._days.first_from(first_day) == first_day
                else 0
            )
        total = self._days.count(first_day + 1, last_day - 1) * self._times.bit_count()
        if self._days.first_from(first_day) == first_day:
            total += from_first.bit_count()
        if self._days.first_from(last_day) == last_day:
            total += to_last.bit_count()
        return total

    def _wall_bits(self, first: int, last: int) -> int:
        first_day, first_minute = divmod(first, MINUTES_PER_DAY)
        mask = 0
        for day in range(first_day, last // MINUTES_PER_DAY + 1):
            if self._days.first_from(day) == day:
                mask |= self._times << (day - first_day) * MINUTES_PER_DAY
        return mask >> first_minute & (1 << last - first + 1) - 1
