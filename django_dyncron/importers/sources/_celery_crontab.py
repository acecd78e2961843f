"""Celery's crontab: how it reads its five fields, and when it runs.

Verified against Celery 5.7. It differs from cron in three ways: both day fields must match; ranges
may wrap around; and it looks for the next *wall time* after the last run, of two equal ones the
first, so that a whole hour is left out when clocks go back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ...core.exceptions import InvalidCronExpression
from ...core.expression import MAX_LENGTH
from ...core.fields import DAY_OF_MONTH, DAY_OF_WEEK, FIELD_KINDS, HOUR, MINUTE, MONTH, FieldKind
from ...core.schedule import CronSchedule
from ...core.zones import load_zone
from ..entries import CannotImport
from ._respelling import spell, spell_both_days

_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY = timedelta(days=1)
_FURTHEST = timedelta(days=366 * 100)

_RANGE = re.compile(r"(\w+?)-(\w+)(?:/(\w+)?)?")
_STAR = re.compile(r"\*(?:/(\w+)?|$)")


class Spelling(NamedTuple):
    """An expression, and whether it had to be put into other words than the source has."""

    expression: str
    is_respelt: bool


@dataclass(frozen=True, slots=True)
class CeleryCrontab:
    """A schedule as Celery understands it; made by :meth:`read`."""

    texts: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]
    zone: ZoneInfo

    @classmethod
    def read(cls, fields: Mapping[FieldKind, str], time_zone: str) -> CeleryCrontab:
        """Read the fields of a row.

        Raises :class:`CannotImport` for what Celery itself cannot read, and so never runs, and for
        a zone that is not known here.
        """
        values = tuple(_read(kind, fields[kind]) for kind in FIELD_KINDS)
        days, months = values[DAY_OF_MONTH.position], values[MONTH.position]
        if all(day > _LENGTHS[month - 1] for month in months for day in days):
            raise CannotImport("Celery cannot read it, and never ran it: there is no such date.")
        try:
            zone = load_zone(time_zone)
        except InvalidCronExpression as error:
            raise CannotImport(f"{error}.") from error
        return cls(tuple(fields[kind] for kind in FIELD_KINDS), values, zone)

    def upcoming(self, after: datetime) -> Iterator[datetime]:
        """Yield the runs that follow one at ``after``, each counted from the one before it.

        It ends where Celery would find itself due again at a time that has passed, within the hour
        that clocks are put back by.
        """
        last = after
        while (moment := self.next_after(last)) is not None and moment > last:
            yield moment
            last = moment

    def next_after(self, last: datetime) -> datetime | None:
        """Return the run after one at ``last``, in UTC; ``None`` if there is none in a century."""
        wall = last.astimezone(self.zone).replace(tzinfo=None, fold=0)
        following = self._next_wall(wall)
        return following and following.replace(tzinfo=self.zone).astimezone(UTC)

    def _next_wall(self, wall: datetime) -> datetime | None:
        minutes, hours = self.values[MINUTE.position], self.values[HOUR.position]
        day = wall.date()
        if self._is_named(day):
            if wall.hour in hours and wall.minute < minutes[-1]:
                minute = minutes[bisect_right(minutes, wall.minute)]
                return wall.replace(minute=minute, second=0, microsecond=0)
            if wall.hour < hours[-1]:
                hour = hours[bisect_right(hours, wall.hour)]
                return datetime.combine(day, time(hour, minutes[0]))
        last_day = min(day + _FURTHEST, date.max - _DAY)
        while day < last_day:
            day += _DAY
            if self._is_named(day):
                return datetime.combine(day, time(hours[0], minutes[0]))
        return None

    def _is_named(self, day: date) -> bool:
        _minutes, _hours, days, months, weekdays = self.values
        return day.day in days and day.month in months and day.isoweekday() % 7 in weekdays

    def spelling(self) -> Spelling:
        """Return an expression of ours that names the same minutes.

        It is the one in the source wherever that means the same by cron's rules. Raises
        :class:`CannotImport` if none does.
        """
        as_it_is = " ".join("".join(text.split()) for text in self.texts)
        if self._means_the_same(as_it_is):
            return Spelling(as_it_is, is_respelt=False)
        plain = [self._spelt(kind) for kind in FIELD_KINDS]
        try:
            plain[DAY_OF_MONTH.position], plain[DAY_OF_WEEK.position] = self._days(plain)
        except CannotImport as refusal:
            raise CannotImport(str(refusal), instead=" ".join(plain)) from None
        return Spelling(" ".join(plain), is_respelt=True)

    def _spelt(self, kind: FieldKind) -> str:
        """Spell one field, in the words of the source if these mean the same."""
        text = "".join(self.texts[kind.position].split())
        probe = ["*"] * len(FIELD_KINDS)
        probe[kind.position] = text
        values = self.values[kind.position]
        if _values(" ".join(probe), kind) != values:
            return spell(kind, values)
        return "*" if len(values) == kind.size else text

    def _days(self, plain: list[str]) -> tuple[str, str]:
        days = (DAY_OF_MONTH, DAY_OF_WEEK)
        if any(plain[kind.position].startswith("*") for kind in days):
            return plain[DAY_OF_MONTH.position], plain[DAY_OF_WEEK.position]
        return spell_both_days(*(self.values[kind.position] for kind in days))

    def _means_the_same(self, expression: str) -> bool:
        if len(expression) > MAX_LENGTH:
            return False
        try:
            fields = CronSchedule.parse(expression).fields
        except InvalidCronExpression:
            return False
        if any(field.special for field in fields):
            return False
        # Cron has rules of its own for days, and for times of day, that are spelt out one by one.
        if any(field.is_full and not field.starts_with_star for field in fields):
            return False
        is_restricted = not (fields.day_of_month.is_full and fields.day_of_week.is_full)
        return tuple(field.values for field in fields) == self.values and not (
            fields.either_day and is_restricted
        )


def _values(expression: str, kind: FieldKind) -> tuple[int, ...] | None:
    try:
        field = CronSchedule.parse(expression).fields[kind.position]
    except InvalidCronExpression:
        return None
    return None if field.special else field.values


def _read(kind: FieldKind, text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({value for part in text.split(",") for value in _part(kind, part)}))
    except (ValueError, KeyError) as error:
        raise CannotImport(
            f"Celery cannot read {kind.label.lower()} '{text}', and never ran it: {error}."
        ) from error


def _part(kind: FieldKind, part: str) -> list[int]:
    everything = list(range(kind.low, kind.high + 1))
    # Where it has read a range or a step, Celery does not mind what follows.
    if match := _RANGE.match(part):
        low, high = _number(kind, match[1]), _number(kind, match[2])
        wrapped = everything * 2
        first = low - kind.low
        count = (high - low) % kind.size + 1
        values = wrapped[first : first + count]
        return values[:: _step(part, match[3])] if "/" in match[0] else values
    if match := _STAR.match(part):
        return everything[:: _step(part, match[1])] if "/" in match[0] else everything
    return [_number(kind, part)]


def _step(part: str, text: str | None) -> int:
    step = int(text or "")
    if step <= 0:
        raise ValueError(f"'{part}' has no step")
    return step


def _number(kind: FieldKind, text: str) -> int:
    """Read a number or a name; Celery takes the name of a month in any field, and looks first."""
    try:
        number = int(text)
    except ValueError:
        name = text[:3].upper()
        number = MONTH.names[name] if name in MONTH.names else DAY_OF_WEEK.names.get(name, -1)
    if not kind.low <= number <= kind.high:
        raise ValueError(f"'{text}' is not in {kind.low} to {kind.high}")
    return number
