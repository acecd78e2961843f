"""Telling observers: one after the other, none able to harm the scheduler."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from .events import Event
from .ports import Observer

_logger = logging.getLogger("django_dyncron")


class Observers:
    """Passes each event to every observer; what one of them raises is logged."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def tell(self, event: Event) -> None:
        for observer in self._observers:
            try:
                observer(event)
            except Exception:
                _logger.exception(
                    "observer %r failed on %s",
                    observer,
                    type(event).__name__,
                    extra={"action": "observer_failed"},
                )
