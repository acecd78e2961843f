"""Looking ahead: what is due and what time the database has, in one statement."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache

from django.db import connections
from django.utils.dateparse import parse_datetime

from ..core.claims import Horizon
from ..models import NEEDS_PLANNING, CronJob

_NOW = {
    # The start of the statement, not of a transaction that may be old; and, unlike
    # clock_timestamp(), stable, so that comparisons with it can use an index.
    "postgresql": "STATEMENT_TIMESTAMP()",
    "sqlite": "STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')",
    "mysql": "UTC_TIMESTAMP(6)",
}

# What no moment can hold could not even be fetched as one: any text on SQLite, infinity on
# PostgreSQL. Besides, Django's way to a moment there takes a fifth of an idle tick.
_READ_AS_TEXT = ("postgresql", "sqlite")

_LOOKED_THROUGH = 100


def look_ahead(using: str, at: datetime | None) -> Horizon:
    """Return what waits at ``at`` or, if ``None``, at the database's present."""
    connection = connections[using]
    quote = connection.ops.quote_name
    names = quote(CronJob._meta.db_table), quote("due_at")
    look, look_through = _statements(connection.vendor, *names)
    with connection.cursor() as cursor:
        cursor.execute(look)
        row = cursor.fetchone()
        now_at = at or _moment(row[0])
        try:
            earliest = _moment(row[1]) if row[1] else None
        except ValueError:
            # When it comes up, its row is marked as broken.
            cursor.execute(look_through)
            earliest = _first_moment(value for (value,) in cursor.fetchall())
    if earliest is not None and earliest <= NEEDS_PLANNING:
        return Horizon(now_at, now_at, needs_planning=True)
    return Horizon(now_at, earliest)


@lru_cache(maxsize=8)
def _statements(vendor: str, table: str, due_at: str) -> tuple[str, str]:
    """Return how to ask for the time and the earliest moment, and for the earliest few."""
    now = _NOW.get(vendor, "CURRENT_TIMESTAMP")
    read = "CAST({} AS TEXT)" if vendor in _READ_AS_TEXT else "{}"
    upcoming = f"SELECT {due_at} FROM {table} WHERE {due_at} IS NOT NULL ORDER BY {due_at}"
    return (
        f"SELECT {read.format(now)}, {read.format(f'({upcoming} LIMIT 1)')}",
        f"SELECT {read.format(due_at)} FROM ({upcoming} LIMIT {_LOOKED_THROUGH}) AS t",
    )


def _first_moment(values: Iterable[str]) -> datetime | None:
    for value in values:
        with suppress(ValueError):
            return _moment(value)
    return None


def _moment(value: datetime | str) -> datetime:
    moment = parse_datetime(value) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        raise ValueError(f"{value!r} is not a moment")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
