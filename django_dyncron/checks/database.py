"""Whether the database can do what cron jobs need, and holds the table of locks."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.db import connections

from ..conf import ConfigurationError, database_alias, read_settings
from ..conf.locks import lock_table
from ..models import CronJob
from .configuration import TAG

SUPPORTED_VENDORS = ("postgresql", "sqlite", "mysql")
OLDEST_SQLITE = (3, 35)


@register(TAG)
def check_database_vendor(**_: Any) -> list[CheckMessage]:
    """Report a database without a durable claim."""
    alias = _tables_alias()
    if alias is None or connections[alias].vendor in SUPPORTED_VENDORS:
        return []
    return [
        Error(
            f'The database "{alias}" is {connections[alias].vendor}, which is not supported.',
            hint='Keep the tables in PostgreSQL, SQLite or MySQL: set DYNCRON["DATABASE"].',
            id="django_dyncron.E009",
        )
    ]


@register(Tags.database)
def check_sqlite_version(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Report an SQLite without what the claim needs."""
    alias = _tables_alias()
    if alias is None or alias not in (databases or ()) or connections[alias].vendor != "sqlite":
        return []
    version = sqlite3.sqlite_version_info
    if version >= OLDEST_SQLITE:
        return []
    return [
        Error(
            f"SQLite {'.'.join(map(str, version))} is too old for cron jobs.",
            hint="Use SQLite 3.35 or newer.",
            id="django_dyncron.E010",
        )
    ]


@register(Tags.database)
def check_lock_table(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Warn of a lock table that is not there; locks then always fail."""
    try:
        place = lock_table(read_settings()[0])
    except ConfigurationError:
        return []
    if place is None or place[0] not in (databases or ()):
        return []
    alias, table = place
    # Before the first migrate nothing is amiss.
    if _has_table(alias, table) or not _has_table(alias, CronJob._meta.db_table):
        return []
    return [
        Warning(
            f'The lock table "{table}" is missing from the database "{alias}".',
            hint="Run migrate, or the lock provider's setup() if it has a table_name of its own.",
            id="django_dyncron.W004",
        )
    ]


def _tables_alias() -> str | None:
    try:
        return database_alias(read_settings()[0])
    except ConfigurationError:
        return None


def _has_table(alias: str, table: str) -> bool:
    connection = connections[alias]
    schema, _, name = table.rpartition(".")
    with connection.cursor() as cursor:
        if not schema:
            return name in connection.introspection.table_names(cursor)
        quoted = ".".join(map(connection.ops.quote_name, (schema, name)))
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [quoted])
        return bool(cursor.fetchone()[0])
