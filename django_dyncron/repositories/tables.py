"""The names of the tables, quoted as PostgreSQL and SQLite both have it."""

from __future__ import annotations

from ..models import CronJob, CronRun


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


JOB = _quoted(CronJob._meta.db_table)
RUN = _quoted(CronRun._meta.db_table)
