"""Whether a payload fits the task it is meant for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..core.exceptions import EnqueueRefused


def bind_payload(function: Callable[..., Any], payload: Any, *, skip: int = 0) -> None:
    """Raise :class:`EnqueueRefused` unless ``payload`` fits the function as keyword arguments.

    ``skip`` counts the leading positional arguments that the worker supplies itself.
    """
    if not isinstance(payload, dict) or not all(isinstance(key, str) for key in payload):
        raise EnqueueRefused(
            'The payload must be an object of keyword arguments such as {"user_id": 7}.',
            field="payload",
        )
    _bind(function, tuple(payload), skip)


@lru_cache(maxsize=1024)
def _bind(function: Callable[..., Any], names: tuple[str, ...], skip: int) -> None:
    """Do the work of :func:`bind_payload`, once for many runs: only the names matter."""
    signature = inspect.signature(function)
    try:
        signature.bind(*(None,) * skip, **dict.fromkeys(names))
    except TypeError as error:
        raise EnqueueRefused(
            f"{function.__qualname__} takes {_in_short(signature, skip)}: {error}.", field="payload"
        ) from error


def _in_short(signature: inspect.Signature, skip: int) -> str:
    """Return the arguments as one would type them, without their types."""
    kept = list(signature.parameters.values())[skip:]
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in kept]
    return str(inspect.Signature(bare))
