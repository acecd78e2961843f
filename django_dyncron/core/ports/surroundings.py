"""What surrounds a scheduler: the time, and whoever wants to hear of it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Protocol

from ..events import Event


class Clock(Protocol):
    """The time, and the way to wait for it."""

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow."""

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        """Return when ``wake`` is set or after ``seconds``, whichever is sooner."""


class Observer(Protocol):
    """Hears of each event after it is committed. Must not block; what it raises is logged."""

    def __call__(self, event: Event) -> None: ...
