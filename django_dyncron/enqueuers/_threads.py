"""A bounded pool of threads that cannot hold up the end of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")


def _nothing() -> None:
    """End a thread that has nothing to put away."""


class DaemonThreads(Generic[T]):
    """Runs functions in at most ``most`` threads, started when they are needed.

    The standard library's executor joins its threads when the interpreter ends, so one task that
    never returns would keep the process alive for ever, whatever the grace was. These are daemons.
    ``before_end`` is called in each thread as its last act.
    """

    def __init__(self, most: int, name: str, before_end: Callable[[], None] = _nothing) -> None:
        self._most = most
        self._name = name
        self._before_end = before_end
        self._work: SimpleQueue[tuple[Future[T], Callable[[], T]] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Have ``function`` called soon, in the order of submission."""
        future: Future[T] = Future()
        self._work.put((future, function))
        if not self._idle.acquire(blocking=False) and len(self._threads) < self._most:
            name = f"{self._name}-{len(self._threads) + 1}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def close(self, seconds: float) -> None:
        """End the idle threads, waiting for them up to ``seconds``; forget those still busy."""
        ends_at = monotonic() + seconds
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join(max(ends_at - monotonic(), 0))
        self._threads.clear()

    def _run(self) -> None:
        try:
            while (work := self._work.get()) is not None:
                self._carry_out(*work)
                # Or it, and all it refers to, would live until the next one comes.
                del work
        finally:
            self._before_end()

    def _carry_out(self, future: Future[T], function: Callable[[], T]) -> None:
        if not future.set_running_or_notify_cancel():
            self._idle.release()
            return
        try:
            result = function()
        except BaseException as error:
            self._idle.release()
            future.set_exception(error)
        else:
            # Idle before the answer is out: who hears it may submit at once.
            self._idle.release()
            future.set_result(result)
