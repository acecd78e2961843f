"""Moments and durations as an operator reads them: how far away first, exact beside it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext as _
from django.utils.translation import npgettext_lazy

# Django's own are not inflected: German says "2 Tage", but "vor 2 Tagen".
_AWAY: dict[str, Any] = {
    "year": npgettext_lazy("in …, … ago", "%(num)d year", "%(num)d years", "num"),
    "month": npgettext_lazy("in …, … ago", "%(num)d month", "%(num)d months", "num"),
    "week": npgettext_lazy("in …, … ago", "%(num)d week", "%(num)d weeks", "num"),
    "day": npgettext_lazy("in …, … ago", "%(num)d day", "%(num)d days", "num"),
    "hour": npgettext_lazy("in …, … ago", "%(num)d hour", "%(num)d hours", "num"),
    "minute": npgettext_lazy("in …, … ago", "%(num)d minute", "%(num)d minutes", "num"),
}
_MINUTE = timedelta(minutes=1)


def relative(moment: datetime, now: datetime) -> str:
    """Return ``in 4 minutes`` or ``2 hours, 5 minutes ago``; below a minute it counts seconds."""
    ahead = moment - now
    if abs(ahead) < _MINUTE:
        seconds = int(abs(ahead).total_seconds())
        if ahead > timedelta(0):
            return _("in %(seconds)d s") % {"seconds": seconds}
        return _("%(seconds)d s ago") % {"seconds": seconds}
    if ahead > timedelta(0):
        return _("in %(time)s") % {"time": timeuntil(moment, now, time_strings=_AWAY)}
    return _("%(time)s ago") % {"time": timesince(moment, now, time_strings=_AWAY)}


def exact(moment: datetime, zone: tzinfo | None = None, *, seconds: bool = False) -> str:
    """Return ``2026-11-30 12:57 CET``, in ``zone`` or else in the zone of the request."""
    local = timezone.localtime(moment, zone)
    return f"{local:{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}} {local.tzname()}"


def moment_html(moment: datetime, now: datetime) -> SafeString:
    """Return both ways to say it, to the second and in UTC in the ``title``."""
    in_utc = moment.astimezone(UTC)
    return format_html(
        '<time class="dyncron-moment" datetime="{}" title="{}">{} <small>{}</small></time>',
        f"{in_utc:%Y-%m-%dT%H:%M:%SZ}",
        f"{in_utc:%Y-%m-%d %H:%M:%S} UTC",
        relative(moment, now),
        exact(moment),
    )


def duration(length: timedelta) -> str:
    """Return ``0.4 s``, ``3 min 20 s``, ``2 h 5 min`` or ``3 d 4 h``."""
    seconds = max(length.total_seconds(), 0.0)
    if seconds < 60:
        return _("%(seconds).1f s") % {"seconds": seconds}
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return _("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": rest}
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}
    return _("%(days)d d %(hours)d h") % {"days": hours // 24, "hours": hours % 24}
