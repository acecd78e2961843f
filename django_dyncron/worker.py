"""The worker's side of a run: its row is told that it begins and how it ends, and it starts once.

A queue's worker wraps what it runs in a :class:`Work`: the generic task of each queue does so by
itself, a hook of the queue's client does so for tasks of its own kind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Token
from time import sleep
from types import TracebackType
from typing import Any
from uuid import UUID

from .calling import call_task
from .conf import get_settings, load_repository
from .context import CurrentRun, enter_run, leave_run
from .core.exceptions import StoreUnavailable
from .core.policies import RunStatus
from .core.ports import IDurableCronJobRepository
from .core.text import one_line
from .once import Guard, Start, guard
from .registry import resolve_task
from .signals import DyncronSignal, run_failed, run_started, run_succeeded

_LONGEST_ERROR = 2000
_END_PAUSES = (1.0, 4.0)
"""Seconds between tries to tell of an end, which nobody else can: a database may fail over."""
_logger = logging.getLogger("django_dyncron")


class Work:
    """What a worker does as ``run``, from its beginning to its end.

    A context manager for the thread, or the coroutine, that runs the task. ``task_id`` is the
    queue's name for it. A store that is away keeps no task from running, unless it is
    guarded by :func:`~django_dyncron.runs_once`. What the block raises is written as the error of
    the run, and goes on. Signals are sent whether or not the store could be told.
    """

    def __init__(self, run: CurrentRun, task_id: str = "") -> None:
        self.run = run
        self._guard = Guard(run)
        self._task_id = task_id
        self._tokens: tuple[Token[Any], Token[Any]] | None = None

    def begin(self) -> None:
        """Tell the store, and make this the current run."""
        with self._telling("that run %s of %s begins"):
            if repository := _durable_repository():
                self._guard.start = _start(repository.report_start_here(*self._named()))
        self._enter()
        if self._guard.start is not Start.AGAIN:
            run_started.send_robust(sender=None, run=self.run)

    def end(self, error: str = "") -> None:
        """Leave the run and tell the store, an ``error`` meaning that it failed."""
        self.leave()
        if not self._has_run:
            return
        with self._telling("how run %s of %s ended"):
            if repository := self._told_repository():
                for pause in (*_END_PAUSES, None):
                    try:
                        repository.report_end_here(self.run.run_id, self.run.job_id, error)
                        break
                    except StoreUnavailable:
                        if pause is None:
                            raise
                        sleep(pause)
        signal, arguments = self._outcome(error)
        signal.send_robust(sender=None, **arguments)

    def end_attempt(self, error: str) -> None:
        """Leave the run after an ``error`` that the queue will answer by another attempt.

        That is no end of the run, unless its task starts only once: then the next attempt will do
        nothing, and nobody else would tell.
        """
        if self._guard.has_let_in:
            self.end(error)
        self.leave()

    def leave(self) -> None:
        """Leave the run without an end, as when the queue itself will try again."""
        if self._tokens is not None:
            guard.reset(self._tokens[0])
            leave_run(self._tokens[1])
            self._tokens = None

    async def abegin(self) -> None:
        """Do as :meth:`begin` does, in a coroutine."""
        with self._telling("that run %s of %s begins"):
            if repository := _durable_repository():
                self._guard.start = _start(await repository.report_start(*self._named()))
        self._enter()
        if self._guard.start is not Start.AGAIN and run_started.has_listeners():
            await run_started.asend_robust(sender=None, run=self.run)

    async def aend(self, error: str = "") -> None:
        """Do as :meth:`end` does, in a coroutine."""
        self.leave()
        if not self._has_run:
            return
        with self._telling("how run %s of %s ended"):
            if repository := self._told_repository():
                for pause in (*_END_PAUSES, None):
                    try:
                        await repository.report_end(self.run.run_id, self.run.job_id, error)
                        break
                    except StoreUnavailable:
                        if pause is None:
                            raise
                        await asyncio.sleep(pause)
        signal, arguments = self._outcome(error)
        if signal.has_listeners():
            await signal.asend_robust(sender=None, **arguments)

    async def aend_attempt(self, error: str) -> None:
        """Do as :meth:`end_attempt` does, in a coroutine."""
        if self._guard.has_let_in:
            await self.aend(error)
        self.leave()

    def __enter__(self) -> Work:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end(error_text(error))

    async def __aenter__(self) -> Work:
        await self.abegin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aend(error_text(error))

    def _enter(self) -> None:
        self._tokens = (guard.set(self._guard), enter_run(self.run))

    def _named(self) -> tuple[UUID, str, str]:
        return self.run.run_id, self.run.job_id, self._task_id

    @property
    def _has_run(self) -> bool:
        return not (self._guard.is_refused or self._guard.has_asked_in_vain)

    def _told_repository(self) -> IDurableCronJobRepository | None:
        """Return what was told of the start, and so has to hear of the end."""
        return None if self._guard.start is Start.UNTOLD else _durable_repository()

    def _outcome(self, error: str) -> tuple[DyncronSignal, dict[str, Any]]:
        if error:
            arguments = {"run": self.run, "error": error, "status": RunStatus.FAILED.value}
            return run_failed, arguments
        return run_succeeded, {"run": self.run}

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        """Let a store that cannot be told keep no task from running."""
        try:
            yield
        except Exception:
            extra = {"action": "report_failed", "job_id": self.run.job_id}
            _logger.warning(
                f"Cannot tell {what}",  # noqa: G004 - one of a few texts
                self.run.run_id,
                self.run.job_id,
                exc_info=True,
                extra=extra,
            )


def run_background_task(
    task_name: str, payload: Mapping[str, Any], run: Mapping[str, Any] | None, task_id: str = ""
) -> None:
    """Run the background task ``task_name``: what the generic task of each queue does.

    ``run`` is a :meth:`CurrentRun.as_json`, or ``None`` outside of a run. What the task returns is
    dropped, since it may be nothing a queue can store. Raises :class:`EnqueueRefused` if the worker
    may not run it, and whatever the task raises.
    """
    if run is None:
        call_task(resolve_task(task_name), payload, None)
        return
    identity = CurrentRun.from_json(run)
    with Work(identity, task_id):
        call_task(resolve_task(task_name), payload, identity)


def error_text(error: BaseException | None) -> str:
    """Return an error of a task as its run's row keeps it; blank if there is none."""
    return "" if error is None else one_line(error, with_type=True)[:_LONGEST_ERROR]


def _start(is_first: bool) -> Start:
    return Start.FIRST if is_first else Start.AGAIN


def _durable_repository() -> IDurableCronJobRepository | None:
    repository = load_repository(get_settings())
    return repository if isinstance(repository, IDurableCronJobRepository) else None
