"""The options of a job, read for one queue system: what each may be, and what to say if it is not.

Options are written by people in the admin, as JSON: a message names the option and what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..core.exceptions import EnqueueRefused
from ..core.phrases import Phrase, gettext_noop, sentences
from ..spelling import did_you_mean

Reader = Callable[[Any], Any]
"""Returns the value to use; raises :class:`ValueError` of a phrase, what the option must be."""


def read_options(
    queue_system: str, options: Mapping[str, Any], readers: Mapping[str, Reader]
) -> dict[str, Any]:
    """Return ``options`` as ``readers`` read them; what is not there stays away.

    Raises :class:`EnqueueRefused`, naming the column ``"options"``.
    """
    if not isinstance(options, Mapping):
        message = gettext_noop("The options must be a JSON object such as {}.")
        raise EnqueueRefused(Phrase(message), field="options")
    return {name: _read(queue_system, name, value, readers) for name, value in options.items()}


def whole(least: int, most: int) -> Reader:
    """Return the reader of a whole number from ``least`` to ``most``."""

    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            message = gettext_noop("a whole number from %(least)d to %(most)d")
            raise ValueError(Phrase(message, {"least": least, "most": most}))
        return value

    return read


def seconds(value: Any) -> float:
    """Read a time in seconds, above 0."""
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise ValueError(Phrase(gettext_noop("a number of seconds above 0")))
    number: float = value
    return number


def text(value: Any) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError(Phrase(gettext_noop("a text")))
    return value


def yes_or_no(value: Any) -> bool:
    """Read ``true`` or ``false``."""
    if not isinstance(value, bool):
        raise ValueError(Phrase(gettext_noop("true or false")))
    return value


def texts(value: Any) -> dict[str, str]:
    """Read texts by name, such as headers."""
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError(Phrase(gettext_noop('an object of texts such as {"tenant": "north"}')))
    return value


def _read(queue_system: str, name: str, value: Any, readers: Mapping[str, Reader]) -> Any:
    if name not in readers:
        raise EnqueueRefused(_unknown(queue_system, name, readers), field="options")
    try:
        return readers[name](value)
    except ValueError as error:
        message = gettext_noop("The option %(name)r must be %(wanted)s, not %(value)s.")
        wanted = error.args[0] if error.args else Phrase(gettext_noop("something else"))
        values = {"name": name, "wanted": wanted, "value": repr(value)}
        raise EnqueueRefused(Phrase(message, values), field="options") from error


def _unknown(queue_system: str, name: str, known: Iterable[str]) -> Phrase:
    values = {"queue_system": queue_system, "name": name, "known": ", ".join(sorted(known))}
    message = gettext_noop("%(queue_system)s has no option %(name)r; there are: %(known)s.")
    if not values["known"]:
        message = gettext_noop("%(queue_system)s has no option %(name)r; there are: none.")
    return sentences(Phrase(message, values), did_you_mean(name, known))
