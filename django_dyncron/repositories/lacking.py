"""Telling a database that was never migrated from one that is away."""

from __future__ import annotations

from django.db import Error, ProgrammingError, connections

from ..models import CronJob, CronRun, Pause, Replica


def lacks_tables(using: str, error: Error) -> bool:
    """Tell whether ``error`` comes of a table that was never made."""
    if not isinstance(error, ProgrammingError) and "no such table" not in str(error):
        return False
    ours = {model._meta.db_table for model in (CronJob, CronRun, Pause, Replica)}
    try:
        return not ours <= set(connections[using].introspection.table_names())
    except Error:
        return False
