"""Lines of pings that wait to be sent, and the threads that send them."""

from __future__ import annotations

import os
import threading
from queue import Empty, Full, Queue
from time import monotonic
from zlib import crc32

from ..core.text import one_line
from .sending import Ping, log_dropped, log_unsent, send_all

LAST_WORDS_SECONDS = 5.0
"""How long the end of a process waits for its pings, and a worker for that of a run's end."""
_THREADS = 4
"""So many monitors may hang before the others wait. All pings of a job go through one of them."""
_LONGEST_LINE = 2500
"""How many pings may wait for one thread; more are dropped."""
_AT_ONCE = 100
"""The addresses of so many pings are read in one query."""
_IMPATIENT_SECONDS = 60.0
"""After it has waited in vain for a ping, a worker waits for no other for this time."""


class _Line:
    """Pings that are sent one after the other, by a thread that is started for the first one."""

    def __init__(self) -> None:
        self._waiting: Queue[Ping] = Queue(_LONGEST_LINE)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._dropped = 0

    def put(self, ping: Ping) -> None:
        try:
            self._waiting.put_nowait(ping)
        except Full:
            ping.is_over.set()
            self._dropped += 1
            if self._dropped == 1:
                log_unsent(ping, "ping_dropped", f"{_LONGEST_LINE} others are waiting")
            return
        if self._dropped:
            # Told together: it may be thousands, and of jobs that have no address at all.
            count, self._dropped = self._dropped, 0
            log_dropped(count)
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="dyncron-ping", daemon=True)
                thread.start()
                self._thread = thread

    def wait(self, seconds: float) -> None:
        """Wait until nothing is left to be sent."""
        is_done = self._waiting.all_tasks_done
        with is_done:
            is_done.wait_for(lambda: not self._waiting.unfinished_tasks, seconds)

    def _work(self) -> None:
        while True:
            batch = self._next_batch()
            try:
                send_all(batch)
            except Exception as error:
                for ping in batch:
                    if not ping.is_over.is_set():
                        log_unsent(ping, "ping_failed", one_line(error, with_type=True))
            for ping in batch:
                ping.is_over.set()
                self._waiting.task_done()

    def _next_batch(self) -> list[Ping]:
        batch = [self._waiting.get()]
        while len(batch) < _AT_ONCE:
            try:
                batch.append(self._waiting.get_nowait())
            except Empty:
                break
        return batch


class _Lines:
    """The lines of one process."""

    def __init__(self) -> None:
        self.all = [_Line() for _ in range(_THREADS)]
        self.impatient_until = float("-inf")


_lines = _Lines()


def _begin_anew() -> None:
    global _lines  # noqa: PLW0603 - a process that was forked off has none of these threads
    _lines = _Lines()


os.register_at_fork(after_in_child=_begin_anew)


def put(ping: Ping) -> None:
    """Have ``ping`` sent soon; never waits. Where too many do already, it is dropped."""
    _lines.all[crc32(ping.job_id.encode()) % _THREADS].put(ping)


def wait_for(ping: Ping) -> None:
    """Wait until ``ping`` is sent or given up, unless that has lately taken too long."""
    if monotonic() >= _lines.impatient_until and not ping.is_over.wait(LAST_WORDS_SECONDS):
        _lines.impatient_until = monotonic() + _IMPATIENT_SECONDS


def flush(seconds: float = LAST_WORDS_SECONDS) -> None:
    """Wait up to ``seconds`` until all pings of this process are sent."""
    ends_at = monotonic() + seconds
    for line in _lines.all:
        line.wait(max(ends_at - monotonic(), 0))
