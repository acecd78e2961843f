"""A wrong setting: where it stands and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ImproperlyConfigured

from ..core.exceptions import DyncronError
from ..spelling import did_you_mean


class ConfigurationError(DyncronError, ImproperlyConfigured):
    """A setting that cannot be used.

    ``path`` is its place as one would type it (``DYNCRON["LOCK_PROVIDER"]["OPTIONS"]["ur"]``),
    ``problem`` is the sentence about it and ``hint`` says what to write instead.
    """

    def __init__(self, path: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{path} {problem} {hint}".rstrip())
        self.path = path
        self.problem = problem
        self.hint = hint

    @property
    def message(self) -> str:
        """The error without its hint."""
        return f"{self.path} {self.problem}"


class UnknownKey(ConfigurationError):
    """A key that ``DYNCRON`` does not have."""


class MissingClient(ConfigurationError):
    """A backend whose client library is not installed."""


def setting_path(*keys: str) -> str:
    """Return the place of a setting as one would type it."""
    return "DYNCRON" + "".join(f'["{key}"]' for key in keys)


def choose(name: object, known: Iterable[str]) -> str:
    """Return a hint: the known spelling nearest to ``name`` or, if none is near, the choices."""
    choices = sorted(known)
    return did_you_mean(name, choices) or f"Choose one of {', '.join(choices)}."


def shown(value: object) -> str:
    """Return a value fit for an error message: of a URL only its scheme, lest a password show."""
    text = repr(value)
    if "://" in text:
        scheme = value.partition("://")[0] if isinstance(value, str) else ""
        return f'a URL of scheme "{scheme[:20]}"' if scheme else "something with a URL in it"
    return text if len(text) <= 80 else f"{text[:77]}..."
