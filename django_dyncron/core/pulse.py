"""What the loop is at, for a watchdog in another thread to look at."""

from __future__ import annotations

import asyncio
from typing import Any


class Pulse:
    """Written by the loop, read by others: plain attributes, so that a tick pays next to nothing.

    ``tick`` is the latest tick's task: as long as it is not done, that tick is in progress. It is
    ``None`` while no loop ticks. ``steps`` grows with each batch that a tick gets through, and with
    each sign of life between ticks.
    """

    __slots__ = ("steps", "tick")

    def __init__(self) -> None:
        self.tick: asyncio.Task[Any] | None = None
        self.steps = 0
