"""The database as each release left it, to be upgraded by the tests.

``tests/data/upgrades/<version>`` holds the schema as the migrations of that release make it, for
SQLite and for PostgreSQL, and rows for every table. ``make snapshot`` writes the schema of the
present version; its rows are written by hand. What was recorded for a release stays as it is.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

import django_dyncron

APP = "django_dyncron"
FOLDER = Path(__file__).resolve().parent / "data" / "upgrades"

_HEADING = re.compile(r"^-- migration (\w+)$", re.MULTILINE)


def releases() -> list[str]:
    """Return the versions there is something recorded of."""
    return sorted(path.name for path in FOLDER.iterdir())


def migrations(release: str) -> list[str]:
    """Return the names of the migrations that ``release`` had."""
    return _HEADING.findall((FOLDER / release / "sqlite.sql").read_text(encoding="utf-8"))


def restore(release: str, alias: str) -> None:
    """Fill an empty database with what ``release`` left behind."""
    connection = connections[alias]
    schema = (FOLDER / release / f"{connection.vendor}.sql").read_text(encoding="utf-8")
    rows = (FOLDER / release / "rows.sql").read_text(encoding="utf-8")
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        connection.connection.executescript(schema + rows)
    else:
        with connection.cursor() as cursor:
            cursor.execute(schema + rows)
    recorder = MigrationRecorder(connection)
    recorder.ensure_schema()
    for migration in _HEADING.findall(schema):
        recorder.record_applied(APP, migration)


def record(alias: str = "default") -> Path:
    """Write what the migrations of the present version do in the kind of database of ``alias``."""
    connection = connections[alias]
    graph = MigrationLoader(connection, replace_migrations=False).graph
    (leaf,) = graph.leaf_nodes(APP)
    statements = ""
    for app, migration in graph.forwards_plan(leaf):
        if app == APP:
            written = io.StringIO()
            call_command("sqlmigrate", app, migration, database=alias, stdout=written)
            statements += f"-- migration {migration}\n{written.getvalue()}"
    path = FOLDER / django_dyncron.__version__ / f"{connection.vendor}.sql"
    path.parent.mkdir(exist_ok=True)
    path.write_text(statements, encoding="utf-8")
    return path


if __name__ == "__main__":
    import django

    django.setup()
    print(record())  # noqa: T201
