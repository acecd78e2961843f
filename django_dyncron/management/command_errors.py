"""What settings, arguments or a database make impossible, told in a line, not by a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import Error

from ..conf import ConfigurationError
from ..core.text import first_line, printable, storable


@contextmanager
def refusals_told() -> Iterator[None]:
    """Raise a :class:`CommandError` in place of a wrong setting or any error of a database."""
    try:
        yield
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    except Error as error:
        raise CommandError(f"The database refused it: {first_line(error)}") from error


def require_text(option: str, given: str | None, *, returncode: int = 1) -> None:
    """Raise :class:`CommandError` if what was ``given`` is no text, as bytes outside of UTF-8."""
    if given is not None and storable(given) != given:
        words = f'{option} is no text: half a character in "{printable(given)}".'
        raise CommandError(words, returncode=returncode)
