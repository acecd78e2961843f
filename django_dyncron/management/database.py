"""Which database a command works in: that of the settings, or the one it is given."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from ..conf import DyncronSettings, database_alias, get_settings


def add_database(parser: ArgumentParser) -> None:
    """Add the option ``--database``."""
    parser.add_argument("--database", metavar="ALIAS", help="Overrides DATABASE.")


def settings_with_database(options: dict[str, Any]) -> DyncronSettings:
    """Return the settings as ``--database`` changes them; raise :class:`ConfigurationError`."""
    alias = options["database"]
    return get_settings() if alias is None else get_settings(DATABASE=alias)


def chosen_database(options: dict[str, Any]) -> str:
    """Return the alias of the database; raise :class:`ConfigurationError` if there is none."""
    return database_alias(settings_with_database(options))
