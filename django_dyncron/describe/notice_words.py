"""The words of each notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.dates import MONTHS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from ..core.notices import Notice, NoticeCode
from .dates import weekday_name
from .listing import listed, ranges
from .times import clock, hour_spans

_TEXTS = {
    NoticeCode.EVERY_MINUTE_OF_HOUR: gettext_noop(
        "Runs every minute %(spans)s. Did you mean %(suggestion)s?"
    ),
    NoticeCode.MANY_TIMES_A_DAY: gettext_noop("Runs %(count)d times a day."),
    NoticeCode.EITHER_DAY: gettext_noop(
        "Runs when either day field matches, the day of the month or the day of the week."
    ),
    NoticeCode.BOTH_DAYS: gettext_noop(
        "Runs only when both day fields match, because one of them starts with *."
    ),
    NoticeCode.STEP_RESTARTS: gettext_noop(
        "The step of %(step)d days starts again on the 1st of every month."
    ),
    NoticeCode.SHORT_MONTHS: gettext_noop("Skips the months that have no day %(day)d."),
    NoticeCode.LEAP_YEARS_ONLY: gettext_noop("Runs in leap years only."),
    NoticeCode.FIFTH_WEEKDAY: gettext_noop(
        "Skips the months that have no fifth such day of the week."
    ),
    NoticeCode.FAR_AWAY: gettext_noop("The next run is more than a year away: %(date)s."),
    NoticeCode.GAP_RUN_AFTER: gettext_noop(
        "On %(date)s the clocks go forward and %(time)s does not exist: runs at %(runs_at)s."
    ),
    NoticeCode.GAP_SKIP: gettext_noop(
        "On %(date)s the clocks go forward and %(time)s does not exist: it is skipped."
    ),
    NoticeCode.FOLD_FIRST: gettext_noop(
        "On %(date)s the clocks go back and %(time)s comes twice: runs the first time."
    ),
    NoticeCode.FOLD_SECOND: gettext_noop(
        "On %(date)s the clocks go back and %(time)s comes twice: runs the second time."
    ),
    NoticeCode.FOLD_BOTH: gettext_noop(
        "On %(date)s the clocks go back and %(time)s comes twice: runs both times."
    ),
}

_UNEVEN_STEPS = {
    "minute": gettext_noop("Runs at %(values)s, not every %(step)d minutes."),
    "hour": gettext_noop("Runs at %(values)s, not every %(step)d hours."),
    "month": gettext_noop("Runs in %(values)s, not every %(step)d months."),
    "day_of_week": gettext_noop("Runs on %(values)s, not every %(step)d days."),
}

_LONG_STEPS = {
    "minute": gettext_noop("The step of %(step)d minutes reaches only %(value)s."),
    "hour": gettext_noop("The step of %(step)d hours reaches only %(value)s."),
    "day_of_month": gettext_noop("The step of %(step)d days reaches only day %(value)s."),
    "month": gettext_noop("The step of %(step)d months reaches only %(value)s."),
    "day_of_week": gettext_noop("The step of %(step)d days reaches only %(value)s."),
}

_SPELLINGS: Mapping[str, Callable[[int], str]] = {
    "minute": lambda minute: f":{minute:02}",
    "hour": lambda hour: clock(hour, 0),
    "day_of_month": str,
    "month": lambda month: str(MONTHS[month]),
    "day_of_week": weekday_name,
}


def notice_text(notice: Notice) -> str:
    """Say one notice in words."""
    values: dict[str, Any] = dict(notice.values)
    spell = _SPELLINGS.get(values.get("field", ""), str)
    if notice.code is NoticeCode.UNEVEN_STEP:
        return _(_UNEVEN_STEPS[values["field"]]) % {
            "step": values["step"],
            "values": listed(ranges(values["values"], spell)),
        }
    if notice.code is NoticeCode.STEP_TOO_LONG:
        values["value"] = spell(values["value"])
        return _(_LONG_STEPS[values["field"]]) % values
    if notice.code is NoticeCode.EVERY_MINUTE_OF_HOUR:
        values["spans"] = listed(hour_spans(values["hours"]))
    return _(_TEXTS[notice.code]) % values
