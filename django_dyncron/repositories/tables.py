"""The names of the tables, quoted as PostgreSQL and SQLite both have it, and shared clauses."""

from __future__ import annotations

from ..models import CronJob, CronRun
from ..models.due import PLANNED_FIELDS


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


JOB = _quoted(CronJob._meta.db_table)
RUN = _quoted(CronRun._meta.db_table)

KEEP_INPUTS = ", ".join(f"planned_{name} = {name}" for name in PLANNED_FIELDS)
"""Assignments that keep what a cursor is planned for beside it."""
