"""An event loop whose time is a number: nobody waits, and the same seed takes the same course."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer whenever nothing is left to do at the present instant."""

    def __init__(self) -> None:
        self._seconds = 0.0
        super().__init__(_NoWaiting(self))

    def time(self) -> float:
        return self._seconds

    def jump(self, seconds: float) -> None:
        self._seconds += seconds


class _NoWaiting(selectors.SelectSelector):
    """Moves the loop's time where others would wait for the network."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nobody will ever wake them")
        self._loop.jump(max(timeout, 0.0))
        return []


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` on a loop of its own, whose time starts at 0."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
