"""Time: the machine's clock, and the store's clock read now and then."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from .ports import Clock


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await wake.wait()
        except TimeoutError:
            pass


class StoreTime:
    """The store's clock between two readings: the last reading plus what has passed since.

    The store decides what is due; the monotonic clock only measures how long ago it was asked.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._read_at = clock.monotonic()
        self._reading: datetime | None = None

    def set(self, reading: datetime) -> None:
        self._read_at = self._clock.monotonic()
        self._reading = reading

    def now(self) -> datetime:
        if self._reading is None:
            return self._clock.now()
        return self._reading + timedelta(seconds=self._clock.monotonic() - self._read_at)
