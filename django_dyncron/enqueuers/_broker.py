"""Queues behind a broker, reached by a client that blocks."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, Generic, TypeVar

from asgiref.sync import sync_to_async

from ..core.attempts import failed
from ..core.definitions import Run
from ..core.exceptions import EnqueueError, EnqueueNotSent, one_line
from ..core.ports import ITaskEnqueuer
from ..core.runs import Attempt, Outcome
from ._threads import DaemonThreads

M = TypeVar("M")
_Answer = str | Exception | None
"""The queue's id of a message, why it has none, or nothing if there was no leave to send it."""

_CHUNK = 100
"""How many messages the client is given at a time; in between, the lease is looked at."""
_THREADS = 4
"""One sends. Should its client hang, there are others for what comes later."""


class BrokerTaskEnqueuer(ITaskEnqueuer, Generic[M]):
    """Prepares messages in the database thread and sends them in a thread of its own.

    Looking up a task may import its module, and so run anything that uses the ORM; a broker may
    hang, and must not hold up the store.
    """

    sends_batches = True
    reports_ends = True

    def __init__(self) -> None:
        self._threads: DaemonThreads[list[_Answer]] = DaemonThreads(
            _THREADS, f"dyncron-{type(self).__name__}"
        )

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
    ) -> list[_Answer]:
        if not messages:
            return []
        work = self._threads.submit(lambda: self._send_all(messages, may_send))
        return await asyncio.wrap_future(work)

    def _send_all(self, messages: Sequence[M], may_send: Callable[[], bool]) -> list[_Answer]:
        answers: list[_Answer] = []
        waiting = takewhile(lambda _: may_send(), messages)
        while chunk := list(islice(waiting, _CHUNK)):
            answers += self._send_chunk(chunk)
        return answers + [None] * (len(messages) - len(answers))

    def _send_chunk(self, chunk: Sequence[M]) -> list[_Answer]:
        answers: list[_Answer] = []
        try:
            for task_id in self.send(chunk):
                answers.append(task_id)  # noqa: PERF402 - what was answered before an error counts
        except Exception as error:
            answers += [error] * (len(chunk) - len(answers))
        return answers


def _attempt(run: Run, answer: _Answer) -> Attempt:
    if answer is None:
        return Attempt(run, Outcome.UNTRIED)
    if isinstance(answer, Exception):
        return failed(run, answer)
    return Attempt(run, Outcome.ENQUEUED, task_id=answer)
