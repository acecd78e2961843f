"""The queue that is this process: tasks run in a pool of threads beside the scheduler."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextvars import Context
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

from ..calling import call_task
from ..context import CurrentRun
from ..core.attempts import failed
from ..core.definitions import Run
from ..core.exceptions import EnqueueError, EnqueueNotSent, StoreUnavailable
from ..core.policies import RunKind
from ..core.ports import IRunJournal, ITaskEnqueuer
from ..core.runs import Attempt, Outcome
from ..core.text import one_line
from ..registry import bind_payload, resolve_task
from ._threads import DaemonThreads

_LONGEST_LINE = 10_000
"""How many runs may wait in line; the others are given back, to be tried again."""
_START_PAUSES = (0.5, 1.0, 2.0)
"""Seconds between tries to mark a run as running: done with well before its lease ends."""
_FINISH_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds between tries to write how a run ended; the last is repeated."""
_MOST_FINISH_FAILURES = 10
"""After how many that is given up, not counting those of a store that is away."""
_LAST_WORDS_SECONDS = 5.0
"""How long a run that ended within the grace may take to have that written."""
_LONGEST_ERROR = 2000

_logger = logging.getLogger("django_dyncron")

_Function = Callable[..., Any]


@dataclass(eq=False, slots=True)
class _Call:
    """A task this process has accepted; without a ``journal`` nobody asks how it ends."""

    run: Run
    function: _Function
    journal: IRunJournal | None
    coordinator: asyncio.Task[None] | None = None
    is_over: bool = False


class LocalTaskEnqueuer(ITaskEnqueuer):
    """Runs tasks in this process, at most ``max_workers`` at a time, the others waiting in line.

    Each task has a thread of the pool to itself, never the scheduler's; async tasks are run to
    their end there. A run is marked as running before its task is called, so it starts at most
    once. The queue's name means nothing here. All methods belong to one event loop; tasks are
    looked up in its database thread, since that may import a module, and so run anything.

    A task that outlasts the grace of :meth:`drain` cannot be stopped: threads have no such thing.
    It is given up, and ends with the process, which it does not keep from exiting.
    """

    starts_once = True
    reports_ends = True

    def __init__(self, max_workers: int = 4) -> None:
        if type(max_workers) is not int or max_workers < 1:
            raise ValueError(f"max_workers must be a whole number above 0, not {max_workers!r}.")
        self._max_workers = max_workers
        self._threads: DaemonThreads[str] = DaemonThreads(
            max_workers, "dyncron-local", connections.close_all
        )
        self._journal: IRunJournal | None = None
        self._calls: dict[UUID, _Call] = {}
        self._waiting: deque[_Call] = deque()
        self._is_draining = False
        self._has_given_up = False

    def bind(self, journal: IRunJournal) -> None:
        self._journal = journal

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        bind_payload(resolve_task(task_name), payload)

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> str:
        """Run a task that belongs to no cron job; return an id. Its failure is only logged."""
        run = Run(uuid4(), "", task_name, payload, queue, None, kind=RunKind.MANUAL)
        self._accept(run, await sync_to_async(_found)(run), None)
        return str(run.run_id)

    async def enqueue_run(self, run: Run) -> str:
        self._accept(run, await sync_to_async(_found)(run), self._journal)
        return str(run.run_id)

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        found = await sync_to_async(_all_found)(runs)
        return [
            self._attempt(run, function, may_send)
            for run, function in zip(runs, found, strict=True)
        ]

    def in_hand(self) -> Collection[Run]:
        return [call.run for call in self._calls.values() if call.run.job_id]

    def withdraw(self) -> Sequence[Run]:
        self._is_draining = True
        withdrawn = [call.run for call in self._waiting]
        self._waiting.clear()
        for run in withdrawn:
            del self._calls[run.run_id]
        return [run for run in withdrawn if run.job_id]

    async def drain(self, grace: timedelta) -> Sequence[Run]:
        self.withdraw()
        await _wait_for(self._started(), grace.total_seconds())
        await _wait_for([call for call in self._started() if call.is_over], _LAST_WORDS_SECONDS)
        given_up = self._started()
        self._has_given_up = bool(given_up)
        for call in given_up:
            if call.coordinator:
                call.coordinator.cancel()
        return [call.run for call in given_up]

    async def aclose(self) -> None:
        # Off the event loop: a thread closes its connections before it ends. One that is still
        # at work was waited for already.
        seconds = 0.0 if self._has_given_up else _LAST_WORDS_SECONDS
        await asyncio.to_thread(self._threads.close, seconds)

    def _attempt(
        self, run: Run, found: _Function | EnqueueError, may_send: Callable[[], bool]
    ) -> Attempt:
        if self._is_draining or not may_send():
            return Attempt(run, Outcome.UNTRIED)
        try:
            self._accept(run, found, self._journal)
        except EnqueueError as error:
            return failed(run, error)
        return Attempt(run, Outcome.STARTED_HERE, task_id=str(run.run_id))

    def _accept(
        self, run: Run, found: _Function | EnqueueError, journal: IRunJournal | None
    ) -> None:
        if self._is_draining:
            raise EnqueueNotSent("The local enqueuer is stopping.")
        if isinstance(found, EnqueueError):
            raise found
        if run.run_id in self._calls:
            return
        if len(self._waiting) >= _LONGEST_LINE:
            raise EnqueueNotSent(f"There are {_LONGEST_LINE} runs waiting for the local enqueuer.")
        call = _Call(run, found, journal)
        self._calls[run.run_id] = call
        self._waiting.append(call)
        self._start_waiting()

    def _started(self) -> list[_Call]:
        return [call for call in self._calls.values() if call.coordinator]

    def _start_waiting(self) -> None:
        free = self._max_workers - (len(self._calls) - len(self._waiting))
        while self._waiting and free > 0 and not self._is_draining:
            call = self._waiting.popleft()
            call.coordinator = asyncio.create_task(self._perform(call))
            free -= 1

    async def _perform(self, call: _Call) -> None:
        try:
            if await _marked_as_running(call):
                work = partial(Context().run, _error_of, call)
                error = await asyncio.wrap_future(self._threads.submit(work))
                call.is_over = True
                await _finish(call, error)
        except Exception:
            # The lease ends, and a replica takes the run over or closes it.
            _log(logging.ERROR, "journal_failed", "Gave up writing about run %s of %s", call)
        finally:
            del self._calls[call.run.run_id]
        # Not if this was cancelled: then the event loop is ending, or we are draining.
        self._start_waiting()


def _found(run: Run) -> _Function | EnqueueError:
    """Return what to call for ``run``, or why it cannot be called."""
    try:
        function = resolve_task(run.task_name)
        bind_payload(function, run.payload)
    except EnqueueError as error:
        return error
    except Exception as error:
        return EnqueueNotSent(one_line(error, with_type=True))
    return function


def _all_found(runs: Sequence[Run]) -> list[_Function | EnqueueError]:
    return [_found(run) for run in runs]


async def _wait_for(calls: Sequence[_Call], seconds: float) -> None:
    coordinators = [call.coordinator for call in calls if call.coordinator]
    if coordinators:
        await asyncio.wait(coordinators, timeout=seconds)


async def _marked_as_running(call: _Call) -> bool:
    if call.journal is None:
        return True
    for pause in _START_PAUSES:
        try:
            return await call.journal.start(call.run)
        except Exception:
            await _pause(pause, call)
    return await call.journal.start(call.run)


async def _finish(call: _Call, error: str) -> None:
    """Write how a run ended. It can only be told here: a store may be away for any time."""
    if call.journal is None:
        return
    failures = 0
    for number in count():
        try:
            await call.journal.finish(call.run, error)
            return
        except Exception as reason:
            failures += not isinstance(reason, StoreUnavailable)
            if failures == _MOST_FINISH_FAILURES:
                raise
            await _pause(_FINISH_PAUSES[min(number, len(_FINISH_PAUSES) - 1)], call)


async def _pause(seconds: float, call: _Call) -> None:
    """Wait before the journal is tried again, after an error in hand."""
    _log(logging.WARNING, "journal_retried", "Cannot write about run %s of %s", call)
    await asyncio.sleep(seconds)


def _error_of(call: _Call) -> str:
    """Call the task in this thread; return what went wrong, in one line, or nothing."""
    close_old_connections()
    try:
        call_task(
            call.function, call.run.payload, CurrentRun.of(call.run) if call.journal else None
        )
    except BaseException as error:  # a task that exits must not take the thread with it
        _log(logging.ERROR, "task_failed", "Run %s of %s failed", call)
        return one_line(error, with_type=True)[:_LONGEST_ERROR]
    finally:
        close_old_connections()
    return ""


def _log(level: int, action: str, message: str, call: _Call) -> None:
    run = call.run
    _logger.log(
        level,
        message,
        run.run_id,
        run.job_id or run.task_name,
        exc_info=True,
        extra={"action": action, "job_id": run.job_id, "run_id": str(run.run_id)},
    )
