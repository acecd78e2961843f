"""What the settings or a database refuse, told in a line and not by a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import Error

from ..conf import ConfigurationError
from ..core.text import first_line


@contextmanager
def refusals_told() -> Iterator[None]:
    """Raise a :class:`CommandError` in place of a wrong setting or any error of a database."""
    try:
        yield
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    except Error as error:
        raise CommandError(f"The database refused it: {first_line(error)}") from error
