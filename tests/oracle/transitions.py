"""The instants at which zones change their offset."""

from __future__ import annotations

import datetime as dt
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

STEP = dt.timedelta(days=2)
MINUTE = dt.timedelta(minutes=1)


@cache
def transitions(first_year: int, last_year: int) -> dict[str, list[dt.datetime]]:
    """Map each zone that changes its clocks in these years to the instants when it does, UTC."""
    names = sorted(available_timezones() - {"localtime", "Factory"})
    found = {name: _transitions_of(ZoneInfo(name), first_year, last_year) for name in names}
    return {name: instants for name, instants in found.items() if instants}


def _transitions_of(zone: ZoneInfo, first_year: int, last_year: int) -> list[dt.datetime]:
    instants = []
    moment = dt.datetime(first_year, 1, 1, tzinfo=dt.UTC)
    end = dt.datetime(last_year + 1, 1, 1, tzinfo=dt.UTC)
    while moment < end:
        later = moment + STEP
        if moment.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            instants.append(_first_change(zone, moment, later))
        moment = later
    return instants


def _first_change(zone: ZoneInfo, low: dt.datetime, high: dt.datetime) -> dt.datetime:
    offset = low.astimezone(zone).utcoffset()
    while high - low > MINUTE:
        middle = low + (high - low) // 2 // MINUTE * MINUTE
        if middle.astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high
