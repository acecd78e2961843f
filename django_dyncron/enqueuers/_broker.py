"""Queues behind a broker, reached by a client that blocks."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Any, Generic, TypeVar

from asgiref.sync import sync_to_async

from ..core.attempts import failed
from ..core.definitions import Run
from ..core.exceptions import EnqueueError, EnqueueNotSent
from ..core.ports import ITaskEnqueuer
from ..core.runs import Attempt, Outcome
from ..core.text import one_line
from ._sending import Answer, Sending
from ._threads import DaemonThreads

M = TypeVar("M")

_PATIENCE_SECONDS = 20.0
"""A client that answers nothing for so long hangs: its own time-outs should be shorter."""
_REST_SECONDS = 30.0
"""So long a client that hung is left alone, for it holds up all that is due."""
_MOST_HANGING = 4
"""With so many threads hanging, no further one is risked."""
_LOOK_SECONDS = 0.25


class BrokerTaskEnqueuer(ITaskEnqueuer, Generic[M]):
    """Prepares messages in the database thread and sends them in a thread of its own.

    Looking up a task may import its module, and so run anything that uses the ORM; a broker may
    hang, and must not hold up the store. A thread that hangs is given up: what it had under way is
    uncertain, the rest was not tried.
    """

    sends_batches = True
    reports_ends = True

    def __init__(self) -> None:
        self._threads = self._new_thread()
        self._hanging: list[Future[None]] = []
        self._rests_until = float("-inf")

    @abstractmethod
    def prepare(
        self, task_name: str, payload: dict[str, Any], queue: str, run: Run | None = None
    ) -> M:
        """Return the message for a task, checked in full; raise :class:`EnqueueRefused`.

        Called in the database thread, and when a job is saved: must not touch the network. ``run``
        is whom the message is to name, with its options; ``None`` for a task that is no run.
        """

    @abstractmethod
    def send(self, messages: Sequence[M]) -> Iterator[str | Exception]:
        """Send ``messages`` in order, and yield the queue's id of each that certainly arrived.

        Called in a thread of this enqueuer. Raise :class:`EnqueueNotSent` if all that was not
        yielded was certainly not sent; after any other exception nobody knows. An error of one
        message may be yielded in place of its id.
        """

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        self.prepare(task_name, payload, queue)

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> str:
        return await self._send_one(await sync_to_async(self.prepare)(task_name, payload, queue))

    async def enqueue_run(self, run: Run) -> str:
        return await self._send_one(await sync_to_async(self._prepare_run)(run))

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        prepared = await sync_to_async(self._prepare_all)(runs)
        messages = [message for _, message in prepared if not isinstance(message, Exception)]
        answers = iter(await self._send_in_thread(messages, may_send))
        return [
            failed(run, message) if isinstance(message, Exception) else _attempt(run, next(answers))
            for run, message in prepared
        ]

    async def aclose(self) -> None:
        await asyncio.to_thread(self._threads.close, 0.0)

    def _prepare_run(self, run: Run) -> M:
        return self.prepare(run.task_name, run.payload, run.queue, run)

    def _prepare_all(self, runs: Sequence[Run]) -> list[tuple[Run, M | Exception]]:
        return [(run, self._prepared_or_not(run)) for run in runs]

    def _prepared_or_not(self, run: Run) -> M | Exception:
        try:
            return self._prepare_run(run)
        except EnqueueError as error:
            return error
        except Exception as error:
            return EnqueueNotSent(one_line(error, with_type=True))

    async def _send_one(self, message: M) -> str:
        (answer,) = await self._send_in_thread([message], lambda: True)
        if isinstance(answer, str):
            return answer
        raise answer or EnqueueNotSent("It was not sent.")

    async def _send_in_thread(
        self, messages: Sequence[M], may_send: Callable[[], bool]
    ) -> list[Answer]:
        if not messages:
            return []
        if self._is_resting():
            error = EnqueueNotSent("The client of the queue hung a moment ago.")
            return [error] * len(messages)
        sending = Sending(messages, self.send, may_send, is_batch=self.sends_batches)
        work = self._threads.submit(sending.run)
        if await _ends_in_time(work, sending, may_send):
            return sending.answers()
        answers = sending.give_up()
        self._leave_alone(work)
        return answers

    def _is_resting(self) -> bool:
        self._hanging = [work for work in self._hanging if not work.done()]
        return monotonic() < self._rests_until or len(self._hanging) >= _MOST_HANGING

    def _leave_alone(self, work: Future[None]) -> None:
        """Go on with another thread, after a rest."""
        self._hanging.append(work)
        # Or the thread would wait for more, once it is free.
        self._threads.close(0.0)
        self._threads = self._new_thread()
        self._rests_until = monotonic() + _REST_SECONDS

    def _new_thread(self) -> DaemonThreads[None]:
        return DaemonThreads(1, f"dyncron-{type(self).__name__}")


async def _ends_in_time(
    work: Future[None], sending: Sending[Any], may_send: Callable[[], bool]
) -> bool:
    """Wait for the end of ``work``; ``False`` if it makes no headway, or has no leave any more."""
    ended = asyncio.wrap_future(work)
    answered, since = 0, monotonic()
    while not (await asyncio.wait({ended}, timeout=_LOOK_SECONDS))[0]:
        if sending.answered > answered:
            answered, since = sending.answered, monotonic()
        if monotonic() - since > _PATIENCE_SECONDS or not may_send():
            return False
    return True


def _attempt(run: Run, answer: Answer) -> Attempt:
    if answer is None:
        return Attempt(run, Outcome.UNTRIED)
    if isinstance(answer, Exception):
        return failed(run, answer)
    return Attempt(run, Outcome.ENQUEUED, task_id=answer)
