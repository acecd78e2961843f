"""The minute and hour fields in words."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..core.fields import Field
from .listing import listed, ranges, runs

_MOST_TIMES = 6
"""More times of day than this are told as a rule, not as a list."""


def at_times(minute: Field, hour: Field) -> str:
    """Say at which times of a day, such as ``at 09:00 and 17:00``."""
    if hour.is_full:
        return _every_hour(minute)
    if len(minute.values) * len(hour.values) <= _MOST_TIMES:
        times = [clock(h, m) for h in hour.values for m in minute.values]
        return _("at %(times)s") % {"times": listed(times)}
    if len(minute.values) == 1:
        return _once_an_hour(minute.values[0], hour)
    return _("%(minutes)s %(hours)s") % {
        "minutes": _every_minutes(minute),
        "hours": listed(hour_spans(hour.values)),
    }


def hour_spans(hours: tuple[int, ...]) -> list[str]:
    """Say from when to when, to the last minute of each run of hours."""
    return [
        _("from %(start)s to %(end)s") % {"start": clock(first, 0), "end": clock(last, 59)}
        for first, last in runs(hours)
    ]


def clock(hour: int, minute: int) -> str:
    """Spell a time of day."""
    return f"{hour:02}:{minute:02}"


def even_step(field: Field) -> int | None:
    """Return the distance of the values if it is the same all round the field, else ``None``."""
    values = field.values
    step = field.kind.size // len(values)
    is_even = values == tuple(range(values[0], field.kind.high + 1, step))
    return step if is_even and field.kind.size % step == 0 else None


def _every_hour(minute: Field) -> str:
    if minute.values == (0,):
        return _("every hour")
    if even_step(minute) and minute.values[0] == 0:
        return _every_minutes(minute)
    return _("%(minutes)s of every hour") % {"minutes": _at_minutes(minute)}


def _every_minutes(minute: Field) -> str:
    step = even_step(minute)
    if step is None or minute.values[0] != 0:
        return _at_minutes(minute)
    if step == 1:
        return _("every minute")
    return ngettext("every %(step)d minute", "every %(step)d minutes", step) % {"step": step}


def _at_minutes(minute: Field) -> str:
    numbers = listed(ranges(minute.values, str))
    many = len(minute.values)
    return ngettext("at minute %(numbers)s", "at minutes %(numbers)s", many) % {"numbers": numbers}


def _once_an_hour(minute: int, hour: Field) -> str:
    step, first, last = even_step(hour), hour.values[0], hour.values[-1]
    if step is not None:
        every = ngettext("every %(step)d hour", "every %(step)d hours", step) % {"step": step}
        start = clock(first, minute)
        return _("%(every)s from %(start)s") % {"every": every, "start": start}
    if len(runs(hour.values)) == 1:
        return _("every hour from %(start)s to %(end)s") % {
            "start": clock(first, minute),
            "end": clock(last, minute),
        }
    return _("at minute %(minute)d of the hours %(hours)s") % {
        "minute": minute,
        "hours": listed(ranges(hour.values, str)),
    }
