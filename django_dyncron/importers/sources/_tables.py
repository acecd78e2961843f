"""Reading tables of another package, whether or not it is still installed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError, connections
from django.utils.dateparse import parse_datetime

from ..entries import SourceError

Row = dict[str, Any]


def read_table(using: str, table: str) -> list[Row]:
    """Return all rows of a table in the order of their ids, by column.

    Which columns there are, depends on the version that made the table: ask with ``get()``. Raises
    :class:`SourceError` if there is no such table.
    """
    connection = connections[using]
    quote = connection.ops.quote_name
    try:
        with connection.cursor() as cursor:
            if table not in connection.introspection.table_names(cursor):
                raise SourceError(
                    f"There is no table {table} in the database {using!r}: name the one that has "
                    "it with --from-database."
                )
            cursor.execute(f"SELECT * FROM {quote(table)} ORDER BY {quote('id')}")  # noqa: S608
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    except (DatabaseError, ValueError) as error:  # SQLite takes any text for a date
        raise SourceError(f"The table {table} cannot be read: {error}") from error


def moment(using: str, value: Any) -> datetime | None:
    """Return what a column of dates holds, in UTC.

    A driver may hand over text, and a date without its zone, which is that of the connection.
    """
    if value is None or value == "":
        return None
    found = parse_datetime(value) if isinstance(value, str) else value
    if not isinstance(found, datetime):
        raise SourceError(f"{value!r} is not a date.")
    if found.tzinfo is None:
        found = found.replace(tzinfo=connections[using].timezone or UTC)
    return found.astimezone(UTC)
