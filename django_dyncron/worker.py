"""The worker's side of a run: its row is told that it begins and how it ends, and it starts once.

A queue's worker wraps what it runs in a :class:`Work`: the generic task of each queue does so by
itself, a hook of the queue's client does so for tasks of its own kind.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import Token
from types import TracebackType
from typing import Any

from asgiref.sync import async_to_sync

from .calling import call_task
from .conf import get_settings, load_repository
from .context import CurrentRun, enter_run, leave_run
from .core.exceptions import one_line
from .core.ports import IDurableCronJobRepository
from .once import Guard, Start, guard
from .registry import resolve_task

_LONGEST_ERROR = 2000
_logger = logging.getLogger("django_dyncron")


class Work:
    """What a worker does as ``run``, from its beginning to its end.

    A context manager for the thread, or the coroutine, that runs the task. ``task_id`` is the
    queue's name for it. A store that is away keeps no task from running, unless it is
    guarded by :func:`~django_dyncron.runs_once`. What the block raises is written as the error of
    the run, and goes on.
    """

    def __init__(self, run: CurrentRun, task_id: str = "") -> None:
        self.run = run
        self._guard = Guard(run)
        self._task_id = task_id
        self._tokens: tuple[Token[Any], Token[Any]] | None = None

    def begin(self) -> None:
        """Tell the store, and make this the current run."""
        self._guard.start = async_to_sync(self._tell_start)()
        self._enter()

    def end(self, error: str = "") -> None:
        """Leave the run and tell the store, an ``error`` meaning that it failed."""
        self._leave()
        async_to_sync(self._tell_end)(error)

    async def abegin(self) -> None:
        """Do as :meth:`begin` does, in a coroutine."""
        self._guard.start = await self._tell_start()
        self._enter()

    async def aend(self, error: str = "") -> None:
        """Do as :meth:`end` does, in a coroutine."""
        self._leave()
        await self._tell_end(error)

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

    def _leave(self) -> None:
        if self._tokens is not None:
            guard.reset(self._tokens[0])
            leave_run(self._tokens[1])
            self._tokens = None

    async def _tell_start(self) -> Start:
        try:
            repository = _durable_repository()
            if repository is None:
                return Start.UNTOLD
            is_first = await repository.report_start(
                self.run.run_id, self.run.job_id, self._task_id
            )
        except Exception as error:
            self._warn("Cannot tell that run %s of %s begins", error)
            return Start.UNTOLD
        return Start.FIRST if is_first else Start.AGAIN

    async def _tell_end(self, error: str) -> None:
        if self._guard.is_refused or self._guard.start is Start.UNTOLD:
            return
        try:
            repository = _durable_repository()
            if repository is not None:
                await repository.report_end(self.run.run_id, self.run.job_id, error)
        except Exception as error:
            self._warn("Cannot tell how run %s of %s ended", error)

    def _warn(self, message: str, error: Exception) -> None:
        extra = {"action": "report_failed", "job_id": self.run.job_id}
        _logger.warning(message, self.run.run_id, self.run.job_id, exc_info=error, extra=extra)


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


def _durable_repository() -> IDurableCronJobRepository | None:
    repository = load_repository(get_settings())
    return repository if isinstance(repository, IDurableCronJobRepository) else None
