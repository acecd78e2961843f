"""Steps of the store's clock, seen against a clock that cannot step."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from .ports import Clock

_FORWARD = timedelta(hours=3)
"""Further than any clock change; a step this large is believed only when it is read twice."""
_BACK = timedelta(minutes=1)
_TOLERANCE = timedelta(minutes=1)


class Jump(StrEnum):
    """What a reading of the store's clock says about the one before."""

    NONE = "none"
    BACK = "back"
    """The clock stepped back: cursors may have been planned in what is now the future."""
    UNCONFIRMED = "unconfirmed"
    """The clock is far ahead of where it should be: read it again before acting on it."""


class JumpGuard:
    """Compares readings of the store's clock with the monotonic time between them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._trusted: tuple[datetime, float] | None = None
        self._doubted: tuple[datetime, float] | None = None

    def judge(self, reading: datetime) -> Jump:
        """Return what ``reading`` means; unless it is unconfirmed, later ones build on it."""
        instant = self._clock.monotonic()
        step = timedelta(0) if self._trusted is None else _step(self._trusted, reading, instant)
        if step > _FORWARD and not self._confirms(reading, instant):
            self._doubted = (reading, instant)
            return Jump.UNCONFIRMED
        self._trusted, self._doubted = (reading, instant), None
        return Jump.BACK if step < -_BACK else Jump.NONE

    def _confirms(self, reading: datetime, instant: float) -> bool:
        return (
            self._doubted is not None and abs(_step(self._doubted, reading, instant)) < _TOLERANCE
        )


def _step(earlier: tuple[datetime, float], reading: datetime, instant: float) -> timedelta:
    """Return how much further the store's clock went than the monotonic one."""
    then, at = earlier
    return reading - then - timedelta(seconds=instant - at)
