"""Cron jobs by the thousand, already planned, written by one statement."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connections

from django_dyncron.core.tzdata import tzdata_version

_COLUMNS = """
    job_id, task_name, cron_expression, payload, plan_from, next_run_at, planned_cron_expression,
    planned_time_zone, planned_dst_gap, planned_dst_fold, planned_in_zone, planned_with_tzdata
"""
_VALUES = """
    {job_id}, 'shop.tasks.report', {expression}, '{{"shop": 7}}', NULL, {next_run_at},
    {expression}, '', 'run_after', 'first', 'UTC', %(tzdata)s
"""
_NUMBERS = {
    "postgresql": "generate_series(%(first)s::integer, %(last)s::integer) AS i",
    "sqlite": """(
        WITH RECURSIVE n(i) AS (
            SELECT %(first)s UNION ALL SELECT i + 1 FROM n WHERE i < %(last)s)
        SELECT i FROM n)""",
}
_JOB_ID = {"postgresql": "'job-' || lpad(i::text, 7, '0')", "sqlite": "printf('job-%%07d', i)"}
_DAILY = "(i %% 60) || ' ' || (i / 60 %% 24) || ' * * *'"
_MINUTELY = "CASE i %% 3 WHEN 0 THEN '* * * * *' WHEN 1 THEN '*/1 * * * *' ELSE '0-59 * * * *' END"
_SPREAD = {
    "postgresql": "%(at)s + make_interval(mins => i %% 1440)",
    "sqlite": "datetime(%(at)s, '+' || (i %% 1440) || ' minutes')",
}
_AT_ONCE = {"postgresql": "%(at)s", "sqlite": "datetime(%(at)s)"}


def add_daily(alias: str, number: int, midnight: datetime, *, first: int = 1) -> None:
    """Add ``number`` daily jobs, spread over the day that begins at ``midnight``."""
    _add(alias, number, midnight, first, _DAILY, _SPREAD)
    vacuum(alias)


def add_untidily(alias: str, number: int, midnight: datetime, *, first: int = 1) -> None:
    """Add daily jobs, and leave the statistics as they are."""
    _add(alias, number, midnight, first, _DAILY, _SPREAD)


def add_minutely(alias: str, number: int, at: datetime, *, first: int = 1) -> None:
    """Add ``number`` minutely jobs, all of them next due ``at``, in three spellings."""
    _add(alias, number, at, first, _MINUTELY, _AT_ONCE)
    vacuum(alias)


def _add(
    alias: str,
    number: int,
    at: datetime,
    first: int,
    expression: str,
    next_run_at: dict[str, str],
) -> None:
    connection = connections[alias]
    vendor = connection.vendor
    values = _VALUES.format(
        job_id=_JOB_ID[vendor], expression=expression, next_run_at=next_run_at[vendor]
    )
    parameters: dict[str, Any] = {
        "first": first,
        "last": first + number - 1,
        "tzdata": tzdata_version(),
        "at": at if vendor == "postgresql" else f"{at:%Y-%m-%d %H:%M:%S}",
    }
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO django_dyncron_cronjob ({_COLUMNS}) SELECT {values}"
            f" FROM {_NUMBERS[vendor]}",
            parameters,
        )


def vacuum(alias: str) -> None:
    """Bring the tables and their statistics into the state that routine upkeep leaves them in."""
    connection = connections[alias]
    statement = "VACUUM (ANALYZE)" if connection.vendor == "postgresql" else "ANALYZE"
    with connection.cursor() as cursor:
        cursor.execute(statement)
