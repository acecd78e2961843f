"""Whether a payload fits the task it is meant for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from inspect import Parameter
from typing import Any

from ..core.exceptions import EnqueueRefused
from ..core.phrases import Phrase, gettext_noop

_USUAL = (
    gettext_noop("missing a required argument: '%(name)s'"),
    gettext_noop("got an unexpected keyword argument '%(name)s'"),
)


def bind_payload(function: Callable[..., Any], payload: Any, *, skip: int = 0) -> None:
    """Raise :class:`EnqueueRefused` unless ``payload`` fits the function as keyword arguments.

    ``skip`` counts the leading positional arguments that the worker supplies itself.
    """
    if not isinstance(payload, dict) or not all(isinstance(key, str) for key in payload):
        text = gettext_noop(
            'The payload must be an object of keyword arguments such as {"user_id": 7}.'
        )
        raise EnqueueRefused(Phrase(text), field="payload")
    _bind(function, tuple(payload), skip)


@lru_cache(maxsize=1024)
def _bind(function: Callable[..., Any], names: tuple[str, ...], skip: int) -> None:
    """Do the work of :func:`bind_payload`, once for many runs: only the names matter."""
    signature = inspect.signature(function)
    try:
        signature.bind(*(None,) * skip, **dict.fromkeys(names))
    except TypeError as error:
        parameters = list(signature.parameters.values())[skip:]
        values = {
            "task": function.__qualname__,
            "arguments": _in_short(parameters),
            "problem": _problem(error, [*signature.parameters, *names]),
        }
        text = gettext_noop("%(task)s takes %(arguments)s: %(problem)s.")
        raise EnqueueRefused(Phrase(text, values), field="payload") from error


def _in_short(parameters: Sequence[Parameter]) -> str:
    """Return the arguments as one would type them, without their types."""
    return str(inspect.Signature([each.replace(annotation=each.empty) for each in parameters]))


def _problem(error: TypeError, names: Iterable[str]) -> str:
    """Return what Python says of one of ``names``, as a phrase if it is the usual."""
    for text in _USUAL:
        for name in names:
            phrase = Phrase(text, {"name": name})
            if phrase == str(error):
                return phrase
    return str(error)
