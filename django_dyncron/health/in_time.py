"""Reading health in bounded time: a probe must be answered although the database hangs."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from datetime import timedelta
from time import monotonic

from django.db import connections

from .judging import judge, read_health, unreadable
from .reading import Figures, Unreadable, alias_or_default, read_figures
from .values import Health

_ABANDONED_AFTER = 30.0
"""A database that is back must not be waited for on a connection that is dead.

Twice as long with each reading that hangs: so there are few, and another one is always begun.
"""


def read_health_in_time(
    seconds: float,
    using: str | None = None,
    max_age: timedelta | None = None,
    replica_id: str | None = None,
) -> Health:
    """Tell how the scheduler is, as :func:`read_health` does, or after ``seconds`` that it is slow.

    Another thread reads, over a connection of its own; all who ask meanwhile wait for the same one,
    and who asks when it has taken ``seconds`` already does not wait at all.
    Inside a transaction, as in a test, it is read right there.
    """
    alias = alias_or_default(using)
    if connections[alias].in_atomic_block:
        return read_health(alias, max_age, replica_id)
    try:
        figures = _reading(alias, replica_id).in_time(seconds)
    except Unreadable as error:
        return unreadable(error, max_age)
    except TimeoutError:
        text = f"Database {alias!r} does not answer within {seconds:g} s."
        return unreadable(Unreadable("database_slow", text), max_age)
    return judge(figures, max_age, replica_id)


class _Reading(Future[Figures]):
    """What a thread will have read, and when it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.began = monotonic()

    def in_time(self, seconds: float) -> Figures:
        """Return what was read within ``seconds`` of the beginning; raise :class:`TimeoutError`."""
        return self.result(max(self.began + seconds - monotonic(), 0.0))

    def run(self, using: str, replica_id: str | None) -> None:
        try:
            figures = read_figures(using, replica_id)
        except BaseException as error:
            self.set_exception(error)
        else:
            self.set_result(figures)
        finally:
            connections.close_all()


class _Readings(dict[tuple[str, str | None], list[_Reading]]):
    """The readings under way in one process."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


_readings = _Readings()


def _begin_anew() -> None:
    global _readings  # noqa: PLW0603 - a process that was forked off has none of these threads
    _readings = _Readings()


# Neither has it whoever may have held the lock.
os.register_at_fork(after_in_child=_begin_anew)


def _reading(using: str, replica_id: str | None) -> _Reading:
    """Return the reading that is under way, or begin one."""
    key = (using, replica_id)
    with _readings.lock:
        going = [reading for reading in _readings.get(key, ()) if not reading.done()]
        patience = _ABANDONED_AFTER * 2 ** (len(going) - 1)
        if not going or monotonic() - going[-1].began >= patience:
            going.append(_begin(using, replica_id))
        _readings[key] = going
        return going[-1]


def _begin(using: str, replica_id: str | None) -> _Reading:
    reading = _Reading()
    thread = threading.Thread(
        target=reading.run, args=(using, replica_id), name="dyncron-health", daemon=True
    )
    thread.start()
    return reading
