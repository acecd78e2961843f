"""Claiming and recording on SQLite (3.35 or newer): few statements, one writer at a time.

SQLite compares moments as text, so they travel as the text Django writes, and what is compared
later is read as the text that is stored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import TextField
from django.db.models.expressions import Combinable, F
from django.db.models.functions import Cast

from ..core.claims import ClaimOrder
from .dialects import BatchRow, Dialect, Move, Row, new_run
from .reading import move_row, read_batch
from .tables import JOB, RUN

_MOMENTS = frozenset({"due_at", "plan_from", "starts_at", "ends_at"})


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in names)


_CURSOR_NAMES = (
    "id",
    "next_run_at",
    "is_settled",
    "planned_in_zone",
    "planned_with_tzdata",
    "error",
    "seen_due_at",
    "seen_plan_from",
    "seen_cron_expression",
    "seen_time_zone",
    "seen_dst_gap",
    "seen_dst_fold",
    "seen_starts_at",
    "seen_ends_at",
    "seen_is_active",
)
_RUN_NAMES = (
    "id",
    "scheduled_for",
    "status",
    "reason",
    "created_at",
    "replica",
    "attempts",
    "lease_until",
    "skipped_until",
    "slot_count",
)
_RECORD_NAMES = (
    "status",
    "reason",
    "task_id",
    "error",
    "enqueued_at",
    "finished_at",
    "lease_until",
)

_SWAP = f"""
UPDATE {JOB} SET
    next_run_at = v.next_run_at,
    is_settled = v.is_settled,
    plan_from = NULL,
    planned_in_zone = v.planned_in_zone,
    planned_with_tzdata = v.planned_with_tzdata,
    planned_cron_expression = cron_expression,
    planned_time_zone = time_zone,
    planned_dst_gap = dst_gap,
    planned_dst_fold = dst_fold,
    planned_starts_at = starts_at,
    planned_ends_at = ends_at,
    last_error = CASE
        WHEN v.error <> '' THEN v.error
        WHEN {JOB}.is_settled AND {JOB}.planned_in_zone = '' THEN ''
        ELSE last_error END
FROM (SELECT {_columns(_CURSOR_NAMES)} FROM json_each(%s)) AS v
WHERE {JOB}.id = v.id
    AND due_at = v.seen_due_at
    AND plan_from IS v.seen_plan_from
    AND is_active = v.seen_is_active
    AND cron_expression = v.seen_cron_expression
    AND time_zone = v.seen_time_zone
    AND dst_gap = v.seen_dst_gap
    AND dst_fold = v.seen_dst_fold
    AND starts_at IS v.seen_starts_at
    AND ends_at IS v.seen_ends_at
RETURNING id
"""

_ADD = f"""
INSERT INTO {RUN} (
    {", ".join(_RUN_NAMES)}, job_id, task_name, payload, queue, enqueuer, options, delivery)
SELECT
    {", ".join(f"r.{name}" for name in _RUN_NAMES)}, j.job_id, j.task_name, j.payload, j.queue,
    j.enqueuer, j.options, j.delivery
FROM (SELECT json_extract(value, '$.job') AS job, {_columns(_RUN_NAMES)} FROM json_each(%s)) AS r
JOIN {JOB} AS j ON j.id = r.job
WHERE true
ON CONFLICT DO NOTHING
RETURNING id
"""

_RECORD_RUNS = f"""
UPDATE {RUN} SET {", ".join(f"{name} = v.{name}" for name in _RECORD_NAMES)}
FROM (
    SELECT {_columns(("id", "attempts", *_RECORD_NAMES))} FROM json_each(%s)) AS v
WHERE {RUN}.id = v.id AND {RUN}.attempts = v.attempts AND {RUN}.status IN ('claimed', 'running')
RETURNING job_id
"""

_RECORD_JOBS = f"""
UPDATE {JOB} SET
    last_run_at = coalesce(max(last_run_at, v.enqueued_at), last_run_at, v.enqueued_at),
    last_error = coalesce(v.error, last_error)
FROM (SELECT {_columns(("job_id", "enqueued_at", "error"))} FROM json_each(%s)) AS v
WHERE {JOB}.job_id = v.job_id
"""


def _seen(name: str) -> Combinable:
    return Cast(name, TextField()) if name in _MOMENTS else F(name)


class SqliteDialect(Dialect):
    """One write after another under SQLite's single write lock."""

    def begin(self) -> None:
        # A transaction that reads first cannot wait for the write lock: it fails at once with
        # "database is locked", whatever the timeout. So take the lock before reading.
        with self.connection.cursor() as cursor:
            cursor.execute(f"UPDATE {RUN} SET id = id WHERE false")

    def read(self, order: ClaimOrder) -> list[BatchRow]:
        return read_batch(self.connection.alias, order, _seen)

    def claim(self, moves: Sequence[Move], runs: Sequence[Row], order: ClaimOrder) -> set[UUID]:
        if not moves:
            return set()
        with self.connection.cursor() as cursor:
            cursor.execute(_SWAP, [self._json([move_row(*move) for move in moves])])
            moved = {row[0] for row in cursor.fetchall()}
            common = new_run(order)
            added = [{**common, **run} for run in runs if run["job"] in moved]
            if not added:
                return set()
            cursor.execute(_ADD, [self._json(added)])
            return {UUID(row[0]) for row in cursor.fetchall()}

    def record(self, runs: Sequence[Row], jobs: Sequence[Row]) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(_RECORD_RUNS, [self._json(runs)])
            written = {row[0] for row in cursor.fetchall()}
            concerned = [job for job in jobs if job["job_id"] in written]
            cursor.execute(_RECORD_JOBS, [self._json(concerned)])

    def _json(self, rows: Sequence[Row]) -> str:
        return json.dumps(rows, default=self._text)

    def _text(self, value: Any) -> str:
        if isinstance(value, datetime):
            return str(self.connection.ops.adapt_datetimefield_value(value))
        if isinstance(value, UUID):
            return value.hex
        return str(value)
