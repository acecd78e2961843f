"""The options of a job, read for one queue system: what each may be, and what to say if it is not.

Options are written by people in the admin, as JSON: a message names the option and what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.exceptions import EnqueueRefused
from ..spelling import did_you_mean

Reader = Callable[[Any], Any]
"""Returns the value to use; raises :class:`ValueError` that says what the option must be."""


def read_options(
    queue_system: str, options: Mapping[str, Any], readers: Mapping[str, Reader]
) -> dict[str, Any]:
    """Return ``options`` as ``readers`` read them; what is not there stays away.

    Raises :class:`EnqueueRefused`, naming the column ``"options"``.
    """
    if not isinstance(options, Mapping):
        raise EnqueueRefused("The options must be a JSON object such as {}.", field="options")
    return {name: _read(queue_system, name, value, readers) for name, value in options.items()}


def whole(least: int, most: int) -> Reader:
    """Return the reader of a whole number from ``least`` to ``most``."""

    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return value

    return read


def seconds(value: Any) -> float:
    """Read a time in seconds, above 0."""
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise ValueError("a number of seconds above 0")
    number: float = value
    return number


def text(value: Any) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def yes_or_no(value: Any) -> bool:
    """Read ``true`` or ``false``."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def texts(value: Any) -> dict[str, str]:
    """Read texts by name, such as headers."""
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError('an object of texts such as {"tenant": "north"}')
    return value


def _read(queue_system: str, name: str, value: Any, readers: Mapping[str, Reader]) -> Any:
    if name not in readers:
        known = ", ".join(sorted(readers)) or "none"
        hint = did_you_mean(name, readers)
        raise EnqueueRefused(
            f"{queue_system} has no option {name!r}; there are: {known}. {hint}".rstrip(),
            field="options",
        )
    try:
        return readers[name](value)
    except ValueError as error:
        raise EnqueueRefused(
            f"The option {name!r} must be {error}, not {value!r}.", field="options"
        ) from error
