"""From instants to wall time: when a zone's clocks change, and what cron's rule makes of that.

Instants and wall times are whole minutes since 1970-01-01 00:00, of UTC and of the wall clock. An
offset with seconds in it (there is none after 1972) counts as the whole minutes below it.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from .days import FIRST_DAY, LAST_DAY
from .exceptions import UnknownTimeZone
from .refusals import RefusalCode, refusal, refusal_text

DST_GAPS = ("run_after", "skip")
DST_FOLDS = ("first", "second", "both")

MINUTES_PER_DAY = 1440
SPAN_BITS = 19
"""Clock changes are found a span of 2**19 minutes (364 days) at a time, when first needed."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_FIRST_MINUTE = FIRST_DAY * MINUTES_PER_DAY
_LAST_MINUTE = (LAST_DAY + 1) * MINUTES_PER_DAY
_LONGEST_DST = 180  # cron(8): "time changes of more than 3 hours" just move the clock
_PROBE_STEP = 3 * MINUTES_PER_DAY  # the closest two changes known are 4 days apart, in 1939
_PER_MACHINE = ("localtime", "posixrules", "Factory")


class Window(NamedTuple):
    """A stretch of instants with one UTC offset, ``start`` included and ``end`` not.

    ``gap`` is the length of the wall time skipped just before it, if what falls in there is to run
    at ``start``, else 0.
    """

    start: int
    end: int
    offset: int
    gap: int


class ClockChange(NamedTuple):
    """An instant at which the offset changes, ``before`` and ``after`` in minutes east of UTC."""

    at: int
    before: int
    after: int

    @property
    def is_dst(self) -> bool:
        """Whether cron's rule for clock changes applies: no more than three hours."""
        return abs(self.after - self.before) <= _LONGEST_DST


class Timeline(dict[int, tuple[Window, ...]]):
    """The windows of one zone in which a schedule may run, under one policy for clock changes.

    It maps a span, an instant shifted by ``SPAN_BITS``, to its windows in order, cut at its ends,
    and fills itself in when asked.
    """

    __slots__ = ("_fold", "_run_after_gap", "_zone")

    def __init__(self, zone: ZoneInfo, *, run_after_gap: bool, fold: str) -> None:
        super().__init__()
        self._zone = zone
        self._run_after_gap = run_after_gap
        self._fold = fold

    def __missing__(self, span: int) -> tuple[Window, ...]:
        first, end = span << SPAN_BITS, span + 1 << SPAN_BITS
        # A change up to a day outside the span still moves windows inside it.
        low, high = first - MINUTES_PER_DAY, end + MINUTES_PER_DAY
        changes = clock_changes(self._zone, low, high)
        offset = changes[0].before if changes else utc_offset(self._zone, low)
        windows, start, gap = [], low, 0
        for change in changes:
            windows.append(Window(start, change.at - self._cut_before(change), offset, gap))
            start = change.at + self._cut_after(change)
            gap = self._gap(change)
            offset = change.after
        windows.append(Window(start, high, offset, gap))
        inside = tuple(
            Window(max(start, first), min(stop, end), offset, gap if start >= first else 0)
            for start, stop, offset, gap in windows
            if max(start, first) < min(stop, end)
        )
        return self.setdefault(span, inside)

    def _cut_before(self, change: ClockChange) -> int:
        """Return how much of the first pass of a fold is left out."""
        is_cut = self._fold == "second" and change.is_dst
        return max(change.before - change.after, 0) if is_cut else 0

    def _cut_after(self, change: ClockChange) -> int:
        """Return how much of the second pass of a fold is left out."""
        is_cut = self._fold == "first" and change.is_dst
        return max(change.before - change.after, 0) if is_cut else 0

    def _gap(self, change: ClockChange) -> int:
        is_made_up = self._run_after_gap and change.is_dst
        return max(change.after - change.before, 0) if is_made_up else 0


@lru_cache(maxsize=4096)
def timeline(time_zone: str, dst_gap: str, dst_fold: str, *, is_fixed_time: bool) -> Timeline:
    """Return the timeline of a zone; schedules that name no times of day follow real time.

    Raises :class:`UnknownTimeZone`.
    """
    if not is_fixed_time:
        dst_gap, dst_fold = "skip", "both"
    return Timeline(load_zone(time_zone), run_after_gap=dst_gap == "run_after", fold=dst_fold)


def check_policies(dst_gap: object, dst_fold: object) -> None:
    """Raise :class:`InvalidCronExpression` for an unknown ``dst_gap`` or ``dst_fold``."""
    for name, value, known in (("dst_gap", dst_gap, DST_GAPS), ("dst_fold", dst_fold, DST_FOLDS)):
        if value not in known:
            raise refusal(
                RefusalCode.UNKNOWN_POLICY,
                field=name,
                value=str(value),
                policy=name,
                given=repr(value),
                known=", ".join(known),
            )


def load_zone(name: object) -> ZoneInfo:
    """Load a zone by its IANA name.

    Raises :class:`UnknownTimeZone` for a name that the installed time zone database does not hold,
    or that is not the same everywhere: what ``localtime`` means differs from machine to machine.
    """
    if not isinstance(name, str):
        raise _no_zone(RefusalCode.TIME_ZONE_NOT_TEXT, given=repr(name))
    if name not in _PER_MACHINE and not name.startswith(("posix/", "right/")):
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError, odd keys, directories
            pass
    close = get_close_matches(name, _known_names(), n=1) if len(name) <= 64 else []
    suggestion = close[0] if close else ""
    raise _no_zone(RefusalCode.UNKNOWN_TIME_ZONE, value=name, name=name, suggestion=suggestion)


def clock_changes(zone: ZoneInfo, low: int, high: int) -> list[ClockChange]:
    """List the changes of offset in ``(low, high]``, ascending."""
    if zone.utcoffset(None) is not None:  # a fixed offset
        return []
    changes: list[ClockChange] = []
    start, offset = low, utc_offset(zone, low)
    while start < high:
        probe = min(start + _PROBE_STEP, high)
        if utc_offset(zone, probe) != offset:
            minutes = range(start + 1, probe + 1)
            before = offset
            at = bisect_left(minutes, True, key=lambda minute: utc_offset(zone, minute) != before)
            probe = minutes[at]
            offset = utc_offset(zone, probe)
            changes.append(ClockChange(probe, before, offset))
        start = probe
    return changes


def utc_offset(zone: ZoneInfo, instant: int) -> int:
    """Return the offset at an instant, in minutes east of UTC."""
    moment = _EPOCH + min(max(instant, _FIRST_MINUTE), _LAST_MINUTE) * _MINUTE
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None, "a ZoneInfo always knows its offset"
    return offset // _MINUTE


def _no_zone(code: RefusalCode, value: str = "", **params: str) -> UnknownTimeZone:
    return UnknownTimeZone(refusal_text(code, params), value=value, code=code, params=params)


@lru_cache(maxsize=1)
def _known_names() -> frozenset[str]:
    return frozenset(available_timezones())
