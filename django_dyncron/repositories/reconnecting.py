"""Reading over a connection that may have been closed while nobody used it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, connections

P = ParamSpec("P")
T = TypeVar("T")


def again_if_disconnected(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function, whose first argument is a database alias, be called again if it must be.

    Only for what may happen twice: a read, or a write that says the same each time.
    """

    def call(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return function(*arguments, **options)
        except (OperationalError, InterfaceError):
            connections[str(arguments[0])].close()
            return function(*arguments, **options)

    return call
