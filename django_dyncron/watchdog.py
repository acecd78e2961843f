"""The watchdog: a thread beside the scheduler's loop that notices when it is stuck, and says where.

It looks at the loop every few seconds. The loop pays nothing for it but an attribute a tick.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Iterable, Iterator
from time import monotonic
from types import FrameType
from typing import Any, Protocol, Self

from .core.pulse import Pulse

_logger = logging.getLogger("django_dyncron")

_LONGEST_PERIOD = 5.0
_LOOKS = 10
"""So often it looks, at least, before it calls a tick stuck."""
_LONGEST_REST = 30.0
"""So long the loop may rest at once: between two signs of life, or after a tick that failed."""
_FRAMES = 25
_PACKAGE = __name__.partition(".")[0]


class KeepAlive(Protocol):
    """Somebody who is told again and again that the scheduler is not stuck."""

    @property
    def keep_alive_seconds(self) -> float | None:
        """How often, at least; ``None`` leaves it to the watchdog, which looks every 5 seconds."""

    def keep_alive(self) -> None:
        """Hear that it is not stuck. Called in the watchdog's thread."""


class Watchdog:
    """Watches the loop of ``pulse``.

    A tick that does not get on for ``stuck_after`` seconds is told of in one error with the stacks
    of ``threads`` (names and thread ids), again each time it has lasted twice as long, and once
    more when it goes on. A tick that works off batch after batch does get on, however long it
    takes. So does a process that was itself suspended: time that the watchdog slept through is not
    counted.

    ``keep_alive`` are told at each look, unless the loop is stuck.
    """

    def __init__(
        self,
        pulse: Pulse,
        *,
        stuck_after: float,
        threads: dict[str, int],
        keep_alive: Iterable[KeepAlive] = (),
    ) -> None:
        self._pulse = pulse
        self._patience = {True: stuck_after, False: stuck_after + _LONGEST_REST}
        self._threads = threads
        self._keep_alive = tuple(keep_alive)
        periods = [each.keep_alive_seconds or _LONGEST_PERIOD for each in self._keep_alive]
        self._period = min(stuck_after / _LOOKS, _LONGEST_PERIOD, *periods)
        self._seen: tuple[object, int, bool] = (None, 0, False)
        self._unmoved = 0.0
        self._tells_at = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="dyncron-watchdog", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join(1)

    def _watch(self) -> None:
        looked_at = monotonic()
        while not self._is_over.wait(self._period):
            now = monotonic()
            # Whoever sleeps longer than he meant to was suspended, and the loop with him.
            passed, looked_at = min(now - looked_at, 2 * self._period), now
            try:
                self._look(passed)
            except Exception:
                _logger.exception("the watchdog stumbled", extra={"action": "watchdog_failed"})

    def _look(self, passed: float) -> None:
        task = self._pulse.tick
        is_ticking = task is not None and not task.done()
        seen = (task, self._pulse.steps, is_ticking)
        if task is None or seen != self._seen:
            if self._tells_at:
                _tell_of_going_on(self._unmoved)
            self._seen, self._unmoved, self._tells_at = seen, 0.0, 0.0
        else:
            self._unmoved += passed
        patience = self._patience[is_ticking]
        if self._unmoved < patience:
            for each in self._keep_alive:
                each.keep_alive()
        elif self._unmoved >= self._tells_at:
            self._tells_at = 2 * self._unmoved
            self._tell(task, is_ticking)

    def _tell(self, task: asyncio.Task[Any] | None, is_ticking: bool) -> None:
        seconds = round(self._unmoved)
        awaited = list(_awaited(task)) if task is not None and is_ticking else []
        if is_ticking:
            step = _step(awaited)
            lines = [f"tick stuck for {seconds} s, in {step}", "the tick awaits:"]
            lines += [f"  {_place(frame)}" for frame in awaited]
        else:
            step = "between ticks"
            what = "the event loop is blocked, or a sign of life is"
            lines = [f"nothing moved for {seconds} s between ticks: {what}"]
        lines += self._stacks()
        _logger.error(
            "%s", "\n".join(lines), extra={"action": "tick_stuck", "seconds": seconds, "step": step}
        )

    def _stacks(self) -> Iterator[str]:
        frames = sys._current_frames()
        for name, ident in self._threads.items():
            yield f"{name} is at:"
            yield from (f"  {each}" for each in _stack(frames.get(ident)))


def _tell_of_going_on(seconds: float) -> None:
    _logger.info(
        "the scheduler goes on after %d s",
        round(seconds),
        extra={"action": "tick_goes_on", "seconds": round(seconds)},
    )


def _awaited(task: asyncio.Task[Any]) -> Iterator[FrameType]:
    """Yield the frames of what a task awaits, outermost first.

    They show how far the tick is, while its thread only waits for events.
    """
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is None:
            return
        yield frame
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def _step(awaited: list[FrameType]) -> str:
    """Return the innermost function of this package."""
    for frame in reversed(awaited):
        if str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
            return frame.f_code.co_qualname
    return "an unknown step"


def _stack(frame: FrameType | None) -> list[str]:
    """Return where a thread is, outermost first; the last few frames of a deep one."""
    places: list[str] = []
    while frame is not None and len(places) < _FRAMES:
        places.append(_place(frame))
        frame = frame.f_back
    return places[::-1] or ["(ended)"]


def _place(frame: FrameType) -> str:
    """Return ``file:line function``."""
    code = frame.f_code
    return f"{code.co_filename}:{frame.f_lineno} {code.co_qualname}"
