"""How the database finds what is due, in tables that routine upkeep has not made pretty."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from statistics import median
from time import perf_counter
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections

from benchmarks._jobs import add_daily, add_minutely, add_untidily
from benchmarks._stage import NOON, Stage, scheduler_on
from benchmarks._tables import print_table
from django_dyncron.testing import FakeClock

TABLE = "django_dyncron_cronjob"
INDEX = f"{TABLE}_due_at"
LATER = NOON + timedelta(minutes=1)
DUE = 100
LOOKS = 20
_CURSOR = "UPDATE django_dyncron_cronjob SET next_run_at = next_run_at"
_PAUSE = "UPDATE django_dyncron_cronjob SET is_active = false, next_run_at = NULL WHERE id > 100"
_EDIT = "UPDATE django_dyncron_cronjob SET cron_expression = '1 1 1 1 *' WHERE id > 100"

Statement = tuple[str, Any]


def _fresh(alias: str, size: int) -> None:
    """Jobs spread over a day, statistics up to date."""
    add_daily(alias, size, LATER, first=DUE + 1)


def _at_once(alias: str, size: int) -> None:
    """All but a few are next due at the same minute."""
    add_minutely(alias, size, LATER, first=DUE + 1)


def _paused(alias: str, size: int) -> None:
    """All but a few are paused, so that nearly the whole index is one value."""
    add_daily(alias, size, LATER, first=DUE + 1)
    _execute(alias, _PAUSE, "ANALYZE")


def _old(alias: str, size: int) -> None:
    """Every row rewritten three times; no vacuum, and the statistics are those of few rows."""
    _execute(alias, "ALTER TABLE django_dyncron_cronjob SET (autovacuum_enabled = false)")
    add_untidily(alias, size, LATER, first=DUE + 1)
    _execute(alias, *[f"{_CURSOR} + interval '1 second'", f"{_CURSOR} - interval '1 second'"] * 2)


def _edited(alias: str, size: int) -> None:
    """All but a few were just edited and wait to be planned."""
    add_daily(alias, size, LATER, first=DUE + 1)
    _execute(alias, _EDIT)


STATES: dict[str, Callable[[str, int], None]] = {
    "spread over a day": _fresh,
    "due at one minute": _at_once,
    "nearly all paused": _paused,
    "rewritten, no statistics": _old,
    "nearly all edited": _edited,
}


def report_plans(stage: Stage, size: int) -> None:
    """Print for each state whether the index is used, and what looking ahead costs."""
    rows = []
    for state, make in STATES.items():
        alias = stage.postgres_alias()
        add_minutely(alias, DUE, NOON)
        make(alias, size)
        rows.append([state, *asyncio.run(_explain(alias, connections[alias].vendor))])
    for state in ("spread over a day", "due at one minute", "nearly all edited"):
        alias = stage.sqlite_alias()
        add_minutely(alias, DUE, NOON)
        STATES[state](alias, size)
        rows.append([f"{state}, SQLite", *asyncio.run(_explain(alias, "sqlite"))])
    print_table(
        f"{size:,} jobs, {DUE} of them due: statements that read jobs, milliseconds to look ahead",
        ["statements", "by index", "first look", "later looks"],
        rows,
    )


async def _explain(alias: str, vendor: str) -> list[str]:
    looks = await sync_to_async(_look)(alias)
    scheduler = scheduler_on(alias, FakeClock(NOON), batch_size=DUE + 1)
    heard = await sync_to_async(_listen)(alias)
    await scheduler.tick()
    readers = {sql: (sql, given) for sql, given in heard if _reads_jobs(sql)}.values()
    plans = [await sync_to_async(_plan)(alias, vendor, statement) for statement in readers]
    used = sum(INDEX in plan and not _scans(plan) for plan in plans)
    return [str(len(plans)), str(used), f"{looks[0]:.2f}", f"{median(looks[1:]):.2f}"]


def _look(alias: str) -> list[float]:
    """Return what each of several looks took, in milliseconds; the first one meets the debris."""
    from django_dyncron.repositories.horizon import look_ahead

    connections[alias].ensure_connection()
    looks = []
    for _ in range(LOOKS):
        began = perf_counter()
        look_ahead(alias, NOON)
        looks.append((perf_counter() - began) * 1e3)
    return looks


def _listen(alias: str) -> list[Statement]:
    """Note every statement that the database thread runs on ``alias`` from now on."""
    heard: list[Statement] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        heard.append((sql, params))
        return execute(sql, params, many, context)

    connections[alias].execute_wrappers.append(note)
    return heard


def _reads_jobs(sql: str) -> bool:
    return sql.lstrip().startswith("SELECT") and "due_at" in sql


def _plan(alias: str, vendor: str, statement: Statement) -> str:
    sql, parameters = statement
    prefix = "EXPLAIN QUERY PLAN" if vendor == "sqlite" else "EXPLAIN"
    with connections[alias].cursor() as cursor:
        cursor.execute(f"{prefix} {sql}", parameters)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def _scans(plan: str) -> bool:
    """Tell whether the jobs are read from end to end."""
    return f"Seq Scan on {TABLE}" in plan or any(
        f"SCAN {TABLE}" in line and "INDEX" not in line for line in plan.splitlines()
    )


def _execute(alias: str, *statements: str) -> None:
    with connections[alias].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
