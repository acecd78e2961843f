"""Putting the tables of the fixtures into the database of a test, whatever that is."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from django.db import connections

_DATA = Path(__file__).resolve().parent.parent / "data"
_POSTGRES_TYPES = {"datetime": "timestamptz", "bool": "boolean"}


def expectations(name: str) -> dict[str, Any]:
    """Return when the software itself would run what is in the fixture, by name or key."""
    runs: dict[str, Any] = json.loads((_DATA / f"{name}.json").read_text())["runs"]
    return runs


def load_tables(name: str, using: str = "default") -> list[str]:
    """Make the tables of a fixture in a database, SQLite or PostgreSQL, and fill them.

    They are as the migrations of the software made them on SQLite; for PostgreSQL the types of the
    columns are put into its own words.
    """
    script = (_DATA / f"{name}.sql").read_text()
    made = sqlite3.connect(":memory:")
    try:
        made.executescript(script)
        names = [row[0] for row in made.execute("SELECT name FROM sqlite_master ORDER BY name")]
        tables = [name for name in names if not name.startswith("sqlite_")]
        for table in tables:
            _copy(made, table, using)
    finally:
        made.close()
    return tables


def drop_tables(tables: list[str], using: str = "default") -> None:
    """Drop what :func:`load_tables` made, after a test whose transactions are real."""
    with connections[using].cursor() as cursor:
        for table in tables:
            cursor.execute(f'DROP TABLE "{table}"')


def _copy(made: sqlite3.Connection, table: str, using: str) -> None:
    connection = connections[using]
    is_postgres = connection.vendor == "postgresql"
    columns = [(row[1], row[2]) for row in made.execute(f'PRAGMA table_info("{table}")')]
    types = {
        name: _POSTGRES_TYPES.get(kind, kind.replace(" unsigned", "")) if is_postgres else kind
        for name, kind in columns
    }
    rows = [
        [
            bool(value) if kind == "bool" and value is not None else value
            for value, (_, kind) in zip(row, columns, strict=True)
        ]
        for row in made.execute(f'SELECT * FROM "{table}"')
    ]
    with connection.cursor() as cursor:
        if is_postgres:
            cursor.execute("SET TimeZone TO 'UTC'")
        described = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        cursor.execute(f'CREATE TABLE "{table}" ({described})')
        places = ", ".join(["%s"] * len(columns))
        cursor.executemany(f'INSERT INTO "{table}" VALUES ({places})', rows)
