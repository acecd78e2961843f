"""Messages on their way: sent in a thread, watched from the event loop, given up when they hang."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Generic, TypeVar

from ..core.exceptions import EnqueueError

M = TypeVar("M")
Answer = str | Exception | None
"""The queue's id of a message, why it has none, or nothing if it was not sent for want of leave."""

_CHUNK = 100
"""How many messages a client is given at a time; in between, the lease is looked at."""
_NO_ANSWER = "The client of the queue did not answer in time."


class Sending(Generic[M]):
    """The delivery of ``messages`` by ``send``, chunk by chunk, as long as ``may_send`` says so.

    With ``is_batch`` a whole chunk leaves at once; otherwise one message after the other, and leave
    is asked for before each.
    """

    def __init__(
        self,
        messages: Sequence[M],
        send: Callable[[Sequence[M]], Iterator[str | Exception]],
        may_send: Callable[[], bool],
        *,
        is_batch: bool,
    ) -> None:
        self._messages = messages
        self._send = send
        self._may_send = may_send
        self._is_batch = is_batch
        self._lock = threading.Lock()
        self._answers: list[Answer] = []
        self._in_flight = 0
        self._is_given_up = False

    @property
    def answered(self) -> int:
        """How many messages have an answer."""
        return len(self._answers)

    def run(self) -> None:
        """Send, in a thread that this may hold up. Never raises."""
        waiting = iter(self._messages)
        while chunk := self._next_chunk(waiting):
            self._in_flight = len(chunk)
            try:
                self._send_chunk(chunk)
            except Exception as error:
                self._answer(*[error] * self._in_flight)

    def _next_chunk(self, waiting: Iterator[M]) -> Sequence[M]:
        if self._is_batch:
            return list(islice(takewhile(lambda _: self._has_leave(), waiting), _CHUNK))
        # For the first of them; for each other when its turn comes.
        return list(islice(waiting, _CHUNK)) if self._has_leave() else ()

    def _send_chunk(self, chunk: Sequence[M]) -> None:
        for answer in self._send(chunk):
            self._answer(answer)
            if self._in_flight and not (self._is_batch or self._has_leave()):
                # The others of this chunk have not left yet.
                self._in_flight = 0
                return

    def _answer(self, *answers: Answer) -> None:
        with self._lock:
            if not self._is_given_up:
                self._answers += answers
                self._in_flight -= len(answers)

    def _has_leave(self) -> bool:
        return not self._is_given_up and self._may_send()

    def give_up(self) -> list[Answer]:
        """Wait no longer: what is under way may have arrived or not, the rest was not sent."""
        with self._lock:
            self._is_given_up = True
            under_way = self._in_flight if self._is_batch else min(self._in_flight, 1)
            return self._all_answers([EnqueueError(_NO_ANSWER)] * under_way)

    def answers(self) -> list[Answer]:
        """Return what became of each message, once :meth:`run` is over."""
        return self._all_answers([])

    def _all_answers(self, under_way: Sequence[Answer]) -> list[Answer]:
        known = [*self._answers, *under_way]
        return [*known, *[None] * (len(self._messages) - len(known))]
