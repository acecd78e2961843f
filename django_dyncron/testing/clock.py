"""A clock that is moved by hand."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from ..core.definitions import aware_utc

_TURNS = 50
"""How often other tasks are let run before time moves on: more than any tick awaits in a row."""


class FakeClock:
    """A clock that stands still until it is moved.

    ``start`` is aware, or a text such as ``"2026-11-01T05:30Z"``. Its ``monotonic`` moves with it,
    and whoever waits on it is woken when its time has come.
    """

    def __init__(self, start: datetime | str) -> None:
        moment = datetime.fromisoformat(start) if isinstance(start, str) else start
        self._now = aware_utc(moment)
        self._monotonic = 0.0
        self._waiting: list[tuple[float, asyncio.Event]] = []

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        waiter = (self._monotonic + max(seconds, 0.0), asyncio.Event())
        self._waiting.append(waiter)
        tasks = {asyncio.ensure_future(wake.wait()), asyncio.ensure_future(waiter[1].wait())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting.remove(waiter)
            for task in tasks:
                task.cancel()

    def advance(self, seconds: float) -> None:
        """Move time forward and wake whoever waited for it."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
        for until, event in self._waiting:
            if until <= self._monotonic:
                event.set()

    def step(self, seconds: float) -> None:
        """Set the wall clock, forward or back; the monotonic time does not notice."""
        self._now += timedelta(seconds=seconds)

    async def run_for(self, seconds: float) -> None:
        """Advance by ``seconds``, stopping at every instant that somebody waits for."""
        end = self._monotonic + seconds
        while True:
            await _let_others_run()
            next_at = min((until for until, _ in self._waiting), default=end)
            self.advance(max(min(next_at, end) - self._monotonic, 0.0))
            if self._monotonic >= end:
                await _let_others_run()
                return


async def _let_others_run() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)
