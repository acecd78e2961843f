"""The guard of a task that must not start twice, however often its message is delivered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, TypeVar, cast

from .context import CurrentRun
from .core.exceptions import RunNotStarted

_logger = logging.getLogger("django_dyncron")
_F = TypeVar("_F", bound=Callable[..., Any])


class Start(StrEnum):
    """What the store said when a worker was about to begin a run."""

    FIRST = "first"
    AGAIN = "again"
    """It began before: the message was delivered twice, or the queue itself tries again."""
    UNTOLD = "untold"
    """The store could not be asked."""


@dataclass(slots=True)
class Guard:
    """What is known of the start of ``run`` in this worker."""

    run: CurrentRun
    start: Start = Start.UNTOLD
    is_refused: bool = False
    """Set when a task had started before, so that nothing was done."""
    has_let_in: bool = False
    """Set when a task that starts once has started here: there is no second start to come."""
    has_asked_in_vain: bool = False
    """Set when a task that starts once did not, because the store could not be asked."""

    def lets_in(self) -> bool:
        """Tell whether this is the first start; raise :class:`RunNotStarted` if nobody knows."""
        if self.start is Start.FIRST:
            self.has_let_in = True
            return True
        run_id, job_id = self.run.run_id, self.run.job_id
        if self.start is Start.UNTOLD:
            self.has_asked_in_vain = True
            raise RunNotStarted(
                f"Run {run_id} of {job_id} was not started: the store of runs could not be asked "
                "whether it is the first time."
            )
        self.is_refused = True
        extra = {"action": "start_refused", "job_id": job_id}
        _logger.warning("Run %s of %s has started before", run_id, job_id, extra=extra)
        return False


guard: ContextVar[Guard | None] = ContextVar("django_dyncron_guard", default=None)
"""The guard of the run that a worker is in. A pool of this process needs none."""


def runs_once(function: _F) -> _F:
    """Let a task start at most once a run, however often its message is delivered.

    A second start returns ``None`` at once. So does a retry by the queue itself: use it where a
    task must rather fail than be repeated. Outside of a run the function is simply called. Raises
    :class:`RunNotStarted` when the store cannot be asked, so that the queue may try again.
    """
    if iscoroutinefunction(function):

        @wraps(function)
        async def start_async(*arguments: Any, **options: Any) -> Any:
            return await function(*arguments, **options) if _may_start() else None

        return cast(_F, start_async)

    @wraps(function)
    def start(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options) if _may_start() else None

    return cast(_F, start)


def _may_start() -> bool:
    of_run = guard.get()
    return of_run is None or of_run.lets_in()
