"""One attempt to hand a run to a queue, and what its errors mean."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from .definitions import Run
from .exceptions import EnqueueError, EnqueueNotSent, EnqueueRefused
from .runs import Attempt, Outcome
from .text import one_line


async def attempt(enqueue: Callable[[Run], Awaitable[Any]], run: Run) -> Attempt:
    """Hand one run over and translate what happened into an :class:`Attempt`."""
    try:
        answer = await enqueue(run)
    except Exception as error:
        return failed(run, error)
    return Attempt(run, Outcome.ENQUEUED, task_id=answer if isinstance(answer, str) else "")


def failed(run: Run, error: Exception) -> Attempt:
    """Return the :class:`Attempt` that an ``error`` of an enqueuer stands for."""
    if isinstance(error, EnqueueRefused):
        return Attempt(run, Outcome.REFUSED, error=one_line(error))
    if isinstance(error, EnqueueNotSent):
        return Attempt(run, Outcome.NOT_SENT, error=one_line(error))
    is_ours = isinstance(error, EnqueueError)
    return Attempt(run, Outcome.UNCERTAIN, error=one_line(error, with_type=not is_ours))
