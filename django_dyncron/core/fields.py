"""The five fields of a cron expression as values: what each may hold, and what one does hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .exceptions import InvalidCronExpression
from .phrases import either, gettext_noop
from .refusals import RefusalCode, refusal_of_field

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_TO = "\u2013"
"""En dash: bounds are prose. What a message offers to be typed is spelt in ASCII."""


@dataclass(frozen=True, slots=True, eq=False)
class FieldKind:
    """One of the five places of an expression, with the values it may hold.

    ``high`` is the greatest distinct value; ``alias`` is a further number that may be typed for
    ``low`` (crontab(5): 7 is Sunday too). ``hash_high`` is the greatest value that a bare ``H``
    picks: the 29th to the 31st would silently skip months.
    """

    position: int
    name: str
    label: str
    low: int
    high: int
    hash_high: int
    names: Mapping[str, int] = field(default_factory=dict)
    alias: int | None = None

    @property
    def size(self) -> int:
        """Number of distinct values."""
        return self.high - self.low + 1

    @property
    def bounds(self) -> str:
        """What may be typed, in words: ``1–12 or JAN–DEC``."""
        numbers = f"{self.low}{_TO}{self.alias or self.high}"
        if not self.names:
            return numbers
        names = list(self.names)
        return either(numbers, f"{names[0]}{_TO}{names[-1]}")

    def refuse(self, value: str, code: RefusalCode, **params: Any) -> InvalidCronExpression:
        """Make the error for ``value``, a part of this field, that tells how to mend it."""
        return refusal_of_field(self.name, self.label, value, code, params)


MINUTE = FieldKind(0, "minute", gettext_noop("Minute"), 0, 59, 59)
HOUR = FieldKind(1, "hour", gettext_noop("Hour"), 0, 23, 23)
DAY_OF_MONTH = FieldKind(2, "day_of_month", gettext_noop("Day of month"), 1, 31, 28)
MONTH = FieldKind(
    3,
    "month",
    gettext_noop("Month"),
    1,
    12,
    12,
    {name: number for number, name in enumerate(_MONTHS, 1)},
)
DAY_OF_WEEK = FieldKind(
    4,
    "day_of_week",
    gettext_noop("Day of week"),
    0,
    6,
    6,
    {name: number for number, name in enumerate(_WEEKDAYS)},
    alias=7,
)
FIELD_KINDS = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)

LAST = -1
"""The ``nth`` of a day counted from the end of the month."""


class SpecialDay(NamedTuple):
    """A day that depends on the month: ``L``, ``LW``, ``15W``, ``MON#1`` or ``L5``.

    With a ``weekday`` (0 is Sunday) it is the ``nth`` one of the month. Without, it is the day
    ``nth`` of the month, moved to the nearest Monday to Friday if ``workday`` says so.
    """

    nth: int
    weekday: int | None = None
    workday: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """What one field of an expression holds.

    ``text`` is its canonical spelling. ``mask`` has a bit for each plain value. ``step`` is above 1
    if the field is one step to its end, such as ``*/40``, ``5/40`` or ``0-59/40``.
    """

    kind: FieldKind
    text: str
    mask: int
    special: tuple[SpecialDay, ...] = ()
    step: int = 1

    @property
    def starts_with_star(self) -> bool:
        """Whether cron's two star rules (day fields, clock changes) apply to this field."""
        return self.text.startswith("*")

    @property
    def is_full(self) -> bool:
        """Whether every value matches, however it was spelt."""
        return self.mask.bit_count() == self.kind.size

    @property
    def values(self) -> tuple[int, ...]:
        """The plain values, ascending."""
        low, high = self.kind.low, self.kind.high
        return tuple(value for value in range(low, high + 1) if self.mask >> value & 1)


class CronFields(NamedTuple):
    """The five fields of one expression."""

    minute: Field
    hour: Field
    day_of_month: Field
    month: Field
    day_of_week: Field

    @property
    def text(self) -> str:
        """The canonical expression."""
        return " ".join(part.text for part in self)

    @property
    def is_fixed_time(self) -> bool:
        """Whether this names times of day: neither minute nor hour starts with ``*``.

        cron(8) in Debian treats only such jobs specially when clocks change.
        """
        return not (self.minute.starts_with_star or self.hour.starts_with_star)

    @property
    def either_day(self) -> bool:
        """Whether a date matches when one of the two day fields does (crontab(5)), not both."""
        return not (self.day_of_month.starts_with_star or self.day_of_week.starts_with_star)
