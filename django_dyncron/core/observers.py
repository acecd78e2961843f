"""Telling observers: one after the other, none able to harm the scheduler."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from .events import Event, StepFailed
from .ports import Observer

T = TypeVar("T")

_logger = logging.getLogger("django_dyncron")


class Observers:
    """Passes each event to every observer; what one of them raises is logged."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def tell(self, event: Event) -> None:
        for observer in self._observers:
            try:
                observer(event)
            except (Exception, CancelledError):
                # No observer awaits anything, so it was not the scheduler that was cancelled.
                _logger.exception(
                    "observer %r failed on %s",
                    observer,
                    type(event).__name__,
                    extra={"action": "observer_failed"},
                )


async def isolated(
    step: str,
    action: Awaitable[T],
    observers: Observers,
    *,
    lets_through: tuple[type[Exception], ...] = (),
) -> T | None:
    """Await ``action``; tell observers what it raises, and return ``None`` then.

    Errors of a type in ``lets_through`` go on to the caller.
    """
    try:
        return await action
    except lets_through:
        raise
    except Exception as error:
        observers.tell(StepFailed(step, error))
        return None
