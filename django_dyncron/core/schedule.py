"""When a cron job is due: the slots of an expression in a time zone, as UTC instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from .days import matching_days
from .exceptions import InvalidCronExpression
from .expression import read_expression
from .fields import CronFields
from .refusals import RefusalCode, refusal
from .search import FIRST_MINUTE, SlotSearch
from .zones import MINUTES_PER_DAY, check_policies, load_zone, timeline

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_CACHED_SCHEDULES = 16_384

# From 2038 on the time zone database has standing rules, dated ones only for Ramadan up to 2087, so
# a schedule without a slot in the two generations from then on will never have one again. The
# rarest dates, a 29 February on a given weekday, are 40 years apart at most.
_SETTLED = 24_837 * MINUTES_PER_DAY  # 2038-01-01
_GENERATIONS = 22_000 * MINUTES_PER_DAY  # 60 years


class CronSchedule:
    """A cron expression in a time zone. Made by :meth:`parse`; immutable, and safe in any thread.

    Its slots are the minutes it names. Methods take aware datetimes of any zone and return aware
    UTC ones; a naive datetime raises :class:`ValueError`. The years 2 to 9998 are searched.

    ``expression`` is the text as it was typed, ``canonical`` the five fields that say the same
    without aliases, names and ``H``, and ``fields`` what each of them holds.
    """

    __slots__ = (
        "_search",
        "canonical",
        "dst_fold",
        "dst_gap",
        "expression",
        "fields",
        "time_zone",
    )

    def __init__(
        self, expression: str, fields: CronFields, time_zone: str, dst_gap: str, dst_fold: str
    ) -> None:
        self.expression = expression
        self.fields = fields
        self.canonical = fields.text
        self.time_zone = time_zone
        self.dst_gap = dst_gap
        self.dst_fold = dst_fold
        days = matching_days(fields)
        if days.is_empty:
            raise _no_such_date(fields)
        changes = timeline(time_zone, dst_gap, dst_fold, is_fixed_time=fields.is_fixed_time)
        self._search = SlotSearch(fields, days, changes)
        if self._search.first_from(_SETTLED, _SETTLED + _GENERATIONS) is None:
            raise refusal(RefusalCode.NEVER_IN_ZONE, value=expression, time_zone=time_zone)

    @classmethod
    def parse(
        cls,
        expression: str,
        time_zone: str = "UTC",
        *,
        dst_gap: str = "run_after",
        dst_fold: str = "first",
        hash_id: str | None = None,
    ) -> CronSchedule:
        """Read an expression of five fields, or an alias, in an IANA time zone.

        ``dst_gap`` is ``"run_after"`` or ``"skip"``; ``dst_fold`` is ``"first"``, ``"second"`` or
        ``"both"``. ``hash_id`` is the job id, which an ``H`` in the expression needs.

        Raises :class:`InvalidCronExpression` for whatever cannot be scheduled, wrong types
        included, and its child :class:`UnknownTimeZone` for a zone that is not installed.
        """
        try:
            if hash_id is not None and "H" not in expression.upper():
                hash_id = None  # jobs that share an expression without H share its schedule
            return _parse(expression, time_zone, dst_gap, dst_fold, hash_id)
        except (AttributeError, TypeError):  # not text, so not even a key for the cache
            return _read(expression, time_zone, dst_gap, dst_fold, hash_id)

    def next_after(self, instant: datetime) -> datetime:
        """Return the first slot later than ``instant``.

        Raises :class:`OverflowError` if there is none before the year 9999.
        """
        slot = self._search.first_from(_minute(instant) + 1)
        if slot is None:
            raise OverflowError(f"{self.expression!r} has no slot after {instant} in this calendar")
        return _EPOCH + slot * _MINUTE

    def latest_at(self, instant: datetime, *, after: datetime | None = None) -> datetime | None:
        """Return the newest slot at or before ``instant``, and later than ``after`` if given.

        Returns ``None`` if there is none.
        """
        earliest = FIRST_MINUTE if after is None else _minute(after) + 1
        slot = self._search.last_until(_minute(instant), earliest)
        return None if slot is None else _EPOCH + slot * _MINUTE

    def between(self, after: datetime, until: datetime) -> list[datetime]:
        """List the slots later than ``after`` and not later than ``until``, ascending."""
        earliest, latest = _minute(after) + 1, _minute(until)
        slots = []
        while (slot := self._search.first_from(earliest, latest)) is not None:
            slots.append(_EPOCH + slot * _MINUTE)
            earliest = slot + 1
        return slots

    def count_between(self, after: datetime, until: datetime) -> int:
        """Count what :meth:`between` would list, without listing it."""
        return self._search.count(_minute(after) + 1, _minute(until))

    def bits_between(self, after: datetime, until: datetime) -> int:
        """Return what :meth:`between` would list as a mask; its lowest bit is the first minute."""
        return self._search.bits(_minute(after) + 1, _minute(until))

    def upcoming(self, after: datetime, count: int) -> list[datetime]:
        """List the first ``count`` slots later than ``after``; fewer only before the year 9999."""
        slots: list[datetime] = []
        earliest = _minute(after) + 1
        while len(slots) < count and (slot := self._search.first_from(earliest)) is not None:
            slots.append(_EPOCH + slot * _MINUTE)
            earliest = slot + 1
        return slots

    def is_slot(self, instant: datetime) -> bool:
        """Tell whether ``instant`` is a slot, to the microsecond."""
        minute = _minute(instant)
        is_whole = instant == _EPOCH + minute * _MINUTE
        return is_whole and self._search.last_until(minute, minute) is not None

    def __repr__(self) -> str:
        return f"<CronSchedule {self.expression!r} in {self.time_zone}>"


def _minute(instant: datetime) -> int:
    """Return the minute an instant lies in; raises :class:`ValueError` for a naive datetime."""
    try:
        since = instant - _EPOCH
    except TypeError:
        if not isinstance(instant, datetime):
            raise
        raise ValueError(f"{instant!r} is naive: an instant needs a time zone") from None
    return since.days * MINUTES_PER_DAY + since.seconds // 60


def _read(
    expression: str, time_zone: str, dst_gap: str, dst_fold: str, hash_id: str | None
) -> CronSchedule:
    if hash_id is not None and not isinstance(hash_id, str):
        raise refusal(RefusalCode.HASH_ID_NOT_TEXT, given=repr(hash_id))
    check_policies(dst_gap, dst_fold)
    load_zone(time_zone)
    fields = read_expression(expression, hash_id)
    return CronSchedule(expression, fields, time_zone, dst_gap, dst_fold)


_parse = lru_cache(maxsize=_CACHED_SCHEDULES)(_read)


def _no_such_date(fields: CronFields) -> InvalidCronExpression:
    days, month, weekday = fields.day_of_month, fields.month.text, fields.day_of_week
    if weekday.is_full:
        return days.kind.refuse(days.text, RefusalCode.NO_SUCH_DAY, month=month)
    return days.kind.refuse(
        days.text,
        RefusalCode.NO_SUCH_WEEKDAY,
        weekday=weekday.text,
        month="" if fields.month.is_full else month,
    )
