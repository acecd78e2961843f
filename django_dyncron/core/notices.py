"""What a person should know about a legal schedule before saving it: codes and values, no words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from .fields import CronFields, Field
from .schedule import CronSchedule
from .zones import ClockChange, clock_changes, load_zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_YEAR = timedelta(days=366)
_MANY_A_DAY = 720  # every other minute
_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class NoticeCode(StrEnum):
    """Every notice there is; the values that come with each are named here."""

    EVERY_MINUTE_OF_HOUR = "every_minute_of_hour"
    """``hours``, and in ``suggestion`` the expression that runs once in each of them."""
    MANY_TIMES_A_DAY = "many_times_a_day"
    """``count``."""
    EITHER_DAY = "either_day"
    BOTH_DAYS = "both_days"
    """One of the two day fields starts with ``*``, so both must match."""
    UNEVEN_STEP = "uneven_step"
    """``field``, ``step`` and the resulting ``values``, which are not that far apart throughout."""
    STEP_RESTARTS = "step_restarts"
    """``step``, in the day of the month: it counts from the 1st again every month."""
    STEP_TOO_LONG = "step_too_long"
    """``field``, ``step`` and the only ``value`` it reaches."""
    SHORT_MONTHS = "short_months"
    """``day``, which some of the months lack."""
    LEAP_YEARS_ONLY = "leap_years_only"
    FIFTH_WEEKDAY = "fifth_weekday"
    FAR_AWAY = "far_away"
    """``date`` of the next slot, in the zone."""
    GAP_RUN_AFTER = "gap_run_after"
    """``date`` and ``time`` that do not exist, and ``runs_at``, the time it runs instead."""
    GAP_SKIP = "gap_skip"
    """``date`` and ``time`` that do not exist."""
    FOLD_FIRST = "fold_first"
    """``date`` and ``time`` that come twice; so in the next two."""
    FOLD_SECOND = "fold_second"
    FOLD_BOTH = "fold_both"


@dataclass(frozen=True, slots=True)
class Notice:
    """A stable code and its values. Dates and times are local to the schedule's zone, ISO 8601."""

    code: NoticeCode
    values: Mapping[str, Any]


def notices(schedule: CronSchedule, now: datetime) -> tuple[Notice, ...]:
    """List what is legal but may surprise; ``now`` (aware) is where the year looked at begins."""
    fields = schedule.fields
    return tuple(
        Notice(code, values)
        for source in (
            _frequency(fields),
            _day_rule(fields),
            _steps(fields),
            _missing_days(fields),
            _far_away(schedule, now),
            _changes(schedule, now),
        )
        for code, values in source
    )


_Found = Iterator[tuple[NoticeCode, Mapping[str, Any]]]


def _frequency(fields: CronFields) -> _Found:
    count = fields.minute.mask.bit_count() * fields.hour.mask.bit_count()
    if fields.minute.is_full and not fields.hour.is_full:
        suggestion = " ".join(["0", *(field.text for field in fields[1:])])
        values = {"hours": fields.hour.values, "suggestion": suggestion}
        yield NoticeCode.EVERY_MINUTE_OF_HOUR, values
    elif count >= _MANY_A_DAY:
        yield NoticeCode.MANY_TIMES_A_DAY, {"count": count}


def _day_rule(fields: CronFields) -> _Found:
    if fields.either_day:
        yield NoticeCode.EITHER_DAY, {}
    elif not (fields.day_of_month.is_full or fields.day_of_week.is_full):
        yield NoticeCode.BOTH_DAYS, {}


def _steps(fields: CronFields) -> _Found:
    for field in fields:
        values = field.values
        if field.step == 1:
            continue
        if len(values) == 1:
            found = {"field": field.kind.name, "step": field.step, "value": values[0]}
            yield NoticeCode.STEP_TOO_LONG, found
        elif field is fields.day_of_month:
            yield NoticeCode.STEP_RESTARTS, {"step": field.step}
        elif values[0] + field.kind.size - values[-1] != field.step:
            found = {"field": field.kind.name, "step": field.step, "values": values}
            yield NoticeCode.UNEVEN_STEP, found


def _missing_days(fields: CronFields) -> _Found:
    if fields.either_day:
        return
    day = _earliest_day(fields.day_of_month)
    months = fields.month.values
    if day == 29 and months == (2,):
        yield NoticeCode.LEAP_YEARS_ONLY, {}
    elif any(_LENGTHS[month] < day for month in months):
        yield NoticeCode.SHORT_MONTHS, {"day": day}
    weekdays = fields.day_of_week
    if not weekdays.mask and all(special.nth == 5 for special in weekdays.special):
        yield NoticeCode.FIFTH_WEEKDAY, {}


def _earliest_day(field: Field) -> int:
    days = [*field.values, *(special.nth for special in field.special)]
    return min(days)  # the last day of the month is -1, and never missing


def _far_away(schedule: CronSchedule, now: datetime) -> _Found:
    slot = schedule.next_after(now)
    if slot - now > _YEAR:
        date = slot.astimezone(load_zone(schedule.time_zone)).date()
        yield NoticeCode.FAR_AWAY, {"date": date.isoformat()}


def _changes(schedule: CronSchedule, now: datetime) -> _Found:
    """Find the first gap and the first fold within a year that the schedule falls into."""
    fields = schedule.fields
    if not (fields.is_fixed_time or fields.hour.mask.bit_count() == 1):
        return
    # Its wall times are the slots of the same expression in UTC.
    walls = CronSchedule.parse(schedule.canonical)
    first = (now - _EPOCH) // _MINUTE
    changes = clock_changes(load_zone(schedule.time_zone), first, first + _YEAR // _MINUTE)
    seen: set[bool] = set()
    for change in changes:
        is_gap = change.after > change.before
        if not change.is_dst or is_gap in seen:
            continue
        low, high = sorted((change.at + change.before, change.at + change.after))
        wall = walls.next_after(_EPOCH + (low - 1) * _MINUTE)
        if wall < _EPOCH + high * _MINUTE:
            seen.add(is_gap)
            yield _in_gap(schedule, change, wall) if is_gap else _in_fold(schedule, wall)


def _in_gap(
    schedule: CronSchedule, change: ClockChange, wall: datetime
) -> tuple[NoticeCode, Mapping[str, Any]]:
    values = {"date": wall.date().isoformat(), "time": f"{wall:%H:%M}"}
    if not (schedule.fields.is_fixed_time and schedule.dst_gap == "run_after"):
        return NoticeCode.GAP_SKIP, values
    runs_at = _EPOCH + (change.at + change.after) * _MINUTE
    return NoticeCode.GAP_RUN_AFTER, values | {"runs_at": f"{runs_at:%H:%M}"}


def _in_fold(schedule: CronSchedule, wall: datetime) -> tuple[NoticeCode, Mapping[str, Any]]:
    fold = schedule.dst_fold if schedule.fields.is_fixed_time else "both"
    code = NoticeCode(f"fold_{fold}")
    return code, {"date": wall.date().isoformat(), "time": f"{wall:%H:%M}"}
