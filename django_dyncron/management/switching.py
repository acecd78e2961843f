"""What the commands that pause and resume have in common: which jobs, and in which database."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from ..conf import ConfigurationError, database_alias, get_settings


def add_choice(parser: ArgumentParser, everything: str) -> None:
    """Let some cron jobs be named, or all be meant, which ``everything`` explains."""
    parser.add_argument("job_ids", nargs="*", metavar="JOB_ID", help="A cron job.")
    parser.add_argument("--all", action="store_true", help=everything)
    parser.add_argument("--database", metavar="ALIAS", help="Overrides DATABASE.")


def chosen_database(options: dict[str, Any]) -> str:
    """Return the database alias; raise :class:`CommandError` if it is unclear which jobs."""
    if options["all"] == bool(options["job_ids"]):
        raise CommandError("Name cron jobs, or give --all.")
    overrides = {} if options["database"] is None else {"DATABASE": options["database"]}
    try:
        return database_alias(get_settings(**overrides))
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
