"""The day and month fields in words."""

from __future__ import annotations

from django.utils.dates import MONTHS, WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext, pgettext_lazy

from ..core.fields import LAST, CronFields, Field, SpecialDay
from .listing import listed, ranges

# Weekdays as they stand after "on", Monday first. Many languages inflect them there, as German does
# in "montags", so Django's own will not do.
_REPEATED = (
    pgettext_lazy("on …", "Monday"),
    pgettext_lazy("on …", "Tuesday"),
    pgettext_lazy("on …", "Wednesday"),
    pgettext_lazy("on …", "Thursday"),
    pgettext_lazy("on …", "Friday"),
    pgettext_lazy("on …", "Saturday"),
    pgettext_lazy("on …", "Sunday"),
)


def on_days(fields: CronFields) -> str:
    """Say on which days, such as ``on Monday to Friday``; nothing if on all of them."""
    dates, weekdays = fields.day_of_month, fields.day_of_week
    if not fields.either_day and weekdays.is_full:
        return "" if dates.is_full else _on_dates(dates)
    if not fields.either_day and dates.is_full:
        return _on_weekdays(weekdays)
    values = {"dates": _on_dates(dates), "weekdays": _on_weekdays(weekdays)}
    if fields.either_day:
        return _("%(dates)s or %(weekdays)s") % values
    return _("%(dates)s, only if it is also %(weekdays)s") % values


def in_months(month: Field) -> str:
    """Say in which months; nothing if in all of them."""
    if month.is_full:
        return ""
    names = ranges(month.values, lambda number: str(MONTHS[number]))
    return _("in %(months)s") % {"months": listed(names)}


def weekday_name(weekday: int) -> str:
    """Name a day of the week, 0 being Sunday."""
    return str(WEEKDAYS[(weekday - 1) % 7])


def _on_dates(field: Field) -> str:
    spelt = []
    if field.values:
        numbers = listed(ranges(field.values, _day_number))
        plural = len(field.values)
        days = ngettext("day %(numbers)s", "days %(numbers)s", plural) % {"numbers": numbers}
        spelt.append(days)
    spelt.extend(_date(special) for special in field.special)
    return _("on %(days)s of the month") % {"days": listed(spelt)}


def _day_number(day: int) -> str:
    # An ordinal where a language wants one (German "1.").
    return pgettext("day of the month", "%(day)d") % {"day": day}


def _date(special: SpecialDay) -> str:
    if special.nth != LAST:
        return _("the weekday nearest to day %(day)d") % {"day": special.nth}
    return _("the last weekday") if special.workday else _("the last day")


def _on_weekdays(field: Field) -> str:
    # Monday first, so that a weekend is "Saturday and Sunday".
    monday_first = sorted((weekday - 1) % 7 for weekday in field.values)
    spelt = ranges(monday_first, lambda day: str(_REPEATED[day]))
    spelt.extend(_nth_weekday(special) for special in field.special)
    return _("on %(days)s") % {"days": listed(spelt)}


def _nth_weekday(special: SpecialDay) -> str:
    assert special.weekday is not None, "this field holds days of the week"
    texts = {
        1: _("the first %(weekday)s of the month"),
        2: _("the second %(weekday)s of the month"),
        3: _("the third %(weekday)s of the month"),
        4: _("the fourth %(weekday)s of the month"),
        5: _("the fifth %(weekday)s of the month"),
        LAST: _("the last %(weekday)s of the month"),
    }
    return texts[special.nth] % {"weekday": weekday_name(special.weekday)}
