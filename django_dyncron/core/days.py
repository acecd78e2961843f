"""Which dates an expression names, as bit masks: one per shape of month, one per block of days.

Days are counted from 1970-01-01, which is day 0. A month has one of 28 shapes, its length and the
weekday of its 1st, and the dates named are the same in all months of a shape, ``LW`` and ``MON#5``
included.
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from .fields import LAST, CronFields, Field

_EPOCH = date(1970, 1, 1).toordinal()
_EPOCH_WEEKDAY = 4  # a Thursday, where 0 is Sunday
_SHORTEST = 28
_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SATURDAY, _SUNDAY = 6, 0

FIRST_DAY = date(2, 1, 1).toordinal() - _EPOCH
LAST_DAY = date(9998, 12, 31).toordinal() - _EPOCH
"""The dates that are searched: a year short of what ``date`` holds, so that no offset overflows."""

_BLOCK_BITS = 9
_BLOCK_DAYS = 1 << _BLOCK_BITS
_BLOCK_MASK = _BLOCK_DAYS - 1
_FIRST_BLOCK, _LAST_BLOCK = FIRST_DAY >> _BLOCK_BITS, LAST_DAY >> _BLOCK_BITS


def matching_days(fields: CronFields) -> MatchingDays:
    """Return the dates that the day and month fields name, shared by all that name the same."""
    return _matching_days(
        fields.day_of_month, fields.month, fields.day_of_week, either=fields.either_day
    )


class MatchingDays(dict[int, int]):
    """The dates that the day and month fields of an expression name.

    It maps a block of 512 days to a mask with one bit a day, and fills itself in when asked.
    """

    __slots__ = ("_months", "_shapes")

    def __init__(self, shapes: tuple[int, ...], months: int) -> None:
        super().__init__()
        self._shapes = shapes
        self._months = months

    @property
    def is_empty(self) -> bool:
        """Whether no date ever matches, such as 30 February."""
        return not any(
            self._shapes[(length - _SHORTEST) * 7 + weekday]
            for month in range(1, 13)
            if self._months >> month & 1
            for length in ((28, 29) if month == 2 else (_LENGTHS[month],))
            for weekday in range(7)
        )

    def first_from(self, day: int) -> int | None:
        """Find the first matching date at or after ``day``; ``None`` if there is none."""
        block = day >> _BLOCK_BITS
        mask = self[block] >> (day & _BLOCK_MASK)
        if mask:
            return day + (mask & -mask).bit_length() - 1
        while block < _LAST_BLOCK:
            block += 1
            mask = self[block]
            if mask:
                return (block << _BLOCK_BITS) + (mask & -mask).bit_length() - 1
        return None

    def last_until(self, day: int) -> int | None:
        """Find the last matching date at or before ``day``; ``None`` if there is none."""
        block = day >> _BLOCK_BITS
        mask = self[block] & (2 << (day & _BLOCK_MASK)) - 1
        while not mask and block > _FIRST_BLOCK:
            block -= 1
            mask = self[block]
        return (block << _BLOCK_BITS) + mask.bit_length() - 1 if mask else None

    def count(self, first: int, last: int) -> int:
        """Count the matching dates from ``first`` to ``last``, both included, a block at a time."""
        if first > last:
            return 0
        blocks = range(first >> _BLOCK_BITS, (last >> _BLOCK_BITS) + 1)
        total = sum(self[block].bit_count() for block in blocks)
        before = self[blocks[0]] & (1 << (first & _BLOCK_MASK)) - 1
        beyond = self[blocks[-1]] >> (last & _BLOCK_MASK) >> 1
        return total - before.bit_count() - beyond.bit_count()

    def __missing__(self, block: int) -> int:
        first = block << _BLOCK_BITS
        mask = 0
        for start, length in self._months_in(first, first + _BLOCK_DAYS):
            weekday = (start + _EPOCH_WEEKDAY) % 7
            shape = self._shapes[(length - _SHORTEST) * 7 + weekday]
            mask |= shape << (start - first) if start >= first else shape >> (first - start)
        return self.setdefault(block, mask & (1 << _BLOCK_DAYS) - 1)

    def _months_in(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield first day and length of the months named that have days in ``[first, end)``."""
        day = date.fromordinal(max(first, FIRST_DAY) + _EPOCH)
        year, month = day.year, day.month
        start = day.toordinal() - day.day + 1 - _EPOCH
        while start < end and start <= LAST_DAY:
            length = 29 if month == 2 and isleap(year) else _LENGTHS[month]
            if self._months >> month & 1:
                yield start, length
            start += length
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)


@lru_cache(maxsize=1024)
def _matching_days(
    day_of_month: Field, month: Field, day_of_week: Field, *, either: bool
) -> MatchingDays:
    shapes = []
    for length in range(_SHORTEST, 32):
        for weekday in range(7):
            dates = _dates(day_of_month, length, weekday)
            weekdays = _dates_of_weekdays(day_of_week, length, weekday)
            shapes.append(dates | weekdays if either else dates & weekdays)
    return MatchingDays(tuple(shapes), month.mask)


def _dates(field: Field, length: int, first_weekday: int) -> int:
    mask = field.mask >> 1 & (1 << length) - 1
    for special in field.special:
        day = length if special.nth == LAST else special.nth
        if day > length:
            continue
        if special.workday:
            day = _nearest_workday(day, length, first_weekday)
        mask |= 1 << (day - 1)
    return mask


def _nearest_workday(day: int, length: int, first_weekday: int) -> int:
    """Move a Saturday or Sunday to the nearest Monday to Friday of its month (Quartz, ``W``)."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == _SUNDAY:
        return day + 1 if day < length else day - 2
    return day


def _dates_of_weekdays(field: Field, length: int, first_weekday: int) -> int:
    mask = sum(1 << day for day in range(length) if field.mask >> (first_weekday + day) % 7 & 1)
    for special in field.special:
        assert special.weekday is not None, "this field holds days of the week"
        first = (special.weekday - first_weekday) % 7
        nth = (length - 1 - first) // 7 if special.nth == LAST else special.nth - 1
        if first + 7 * nth < length:
            mask |= 1 << first + 7 * nth
    return mask
