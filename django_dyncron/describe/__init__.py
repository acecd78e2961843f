"""Schedules and their notices in words, in the language of whoever reads them."""

from __future__ import annotations

from datetime import datetime

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from ..core.exceptions import InvalidCronExpression
from ..core.notices import notices
from ..core.schedule import CronSchedule
from .dates import in_months, on_days
from .error_words import error_text
from .notice_words import notice_text
from .times import at_times

__all__ = ["describe", "error_text", "notice_text", "notice_texts"]


def describe(schedule: CronSchedule | str) -> str:
    """Say in words what a schedule or an expression means, without its time zone.

    An expression that cannot be read, or needs a job id for its ``H``, is returned as it is.
    """
    if isinstance(schedule, str):
        try:
            fields = CronSchedule.parse(schedule).fields
        except InvalidCronExpression:
            return schedule
    else:
        fields = schedule.fields
    words = at_times(fields.minute, fields.hour)
    days, months = on_days(fields), in_months(fields.month)
    if days:
        words = _("%(times)s, %(days)s") % {"times": words, "days": days}
    elif not (fields.hour.is_full or months):
        words = _("%(times)s every day") % {"times": words}
    if months:
        words = _("%(when)s, %(months)s") % {"when": words, "months": months}
    return str(capfirst(words))


def notice_texts(schedule: CronSchedule, now: datetime) -> list[str]:
    """List, in words, what is legal but may surprise in the year after ``now`` (aware)."""
    return [notice_text(notice) for notice in notices(schedule, now)]
