"""Durations, moments and names, short enough to be read at night."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from .values import MOST

_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_NAMED = 5


def duration(span: timedelta) -> str:
    """Return ``3 min 20 s``: the two largest units, rounded down."""
    left = max(int(span.total_seconds()), 0)
    parts: list[str] = []
    for unit, seconds in _UNITS:
        number, left = divmod(left, seconds)
        if number or parts:
            parts.append(f"{number} {unit}" if number else "")
    return " ".join(filter(None, parts[:2])) or "0 s"


def moment(instant: datetime) -> str:
    """Return ``2026-11-30 02:57:10Z``."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def counted(number: int) -> str:
    """Return a count that may have been stopped."""
    return f"{number} or more" if number >= MOST else str(number)


def listed(names: Sequence[str]) -> str:
    """Return the first few names and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
