"""How old a sign of life may be, as it was typed or asked for in an address."""

from __future__ import annotations

import math
from datetime import timedelta

from ..core.upkeep import BEAT_SECONDS

SHORTEST_MAX_AGE = timedelta(seconds=BEAT_SECONDS + 5)
"""With less, a replica would be called silent between two of its signs of life."""
LONGEST_MAX_AGE = timedelta(days=366)


def read_max_age(text: str) -> timedelta:
    """Return the age, given in seconds; raise :class:`ValueError` of what it may be."""
    least, most = SHORTEST_MAX_AGE.total_seconds(), LONGEST_MAX_AGE.total_seconds()
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not least <= seconds <= most:
        raise ValueError(f"seconds from {least:.0f} to {most:.0f}")
    return timedelta(seconds=seconds)
