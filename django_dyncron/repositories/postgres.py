"""Claiming and recording on PostgreSQL: one statement each, whatever the number of rows.

Rows travel as one JSON parameter: Django binds on the client, where arrays cost a third more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from ..core.claims import ClaimOrder
from ..core.definitions import CronJobDefinition
from ..core.planning import JobPlan
from ..core.tzdata import tzdata_version
from ..models import DEFINITION_FIELDS, NEEDS_PLANNING
from .dialects import BatchRow, Dialect, Move, Row, new_run
from .tables import JOB, RUN

_TIMEOUTS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"

# What planning looks at. Each column more is read and converted once a run.
_DEFINITION = [
    name for name in DEFINITION_FIELDS if name not in ("description", "last_run_at", "next_run_at")
]
_OBJECTS = [_DEFINITION.index(name) for name in ("payload", "options")]

_READ = f"""
SELECT id, xmin::text, due_at, plan_from, {", ".join(_DEFINITION)}
FROM {JOB}
WHERE due_at > %s AND due_at <= %s AND id <> ALL(%s)
ORDER BY due_at
LIMIT %s
FOR NO KEY UPDATE SKIP LOCKED
"""

# xmin names the version of a row: it changes with every update of it, whoever makes it. The slot is
# compared besides, so that the rule can be read here: who wins is who moves the cursor off it.
_CLAIM = f"""
WITH v AS (
    SELECT * FROM json_to_recordset(%s) AS v(
        id bigint, version text, slot timestamptz, next timestamptz, settled boolean, zone text,
        error text)
), moved AS (
    UPDATE {JOB} AS j SET
        next_run_at = v.next,
        is_settled = v.settled IS TRUE,
        plan_from = NULL,
        planned_in_zone = coalesce(v.zone, ''),
        planned_with_tzdata = %s,
        planned_cron_expression = j.cron_expression,
        planned_time_zone = j.time_zone,
        planned_dst_gap = j.dst_gap,
        planned_dst_fold = j.dst_fold,
        planned_starts_at = j.starts_at,
        planned_ends_at = j.ends_at,
        last_error = CASE
            WHEN v.error IS NOT NULL THEN v.error
            WHEN j.is_settled AND j.planned_in_zone = '' THEN ''
            ELSE j.last_error END
    FROM v
    WHERE j.id = v.id AND j.due_at = v.slot AND j.xmin::text = v.version
    RETURNING j.id, j.job_id, j.task_name, j.payload, j.queue, j.enqueuer, j.options, j.delivery
), r AS (
    SELECT * FROM json_to_recordset(%s) AS r(
        job bigint, id uuid, scheduled_for timestamptz, status text, reason text, attempts integer,
        lease_until timestamptz, skipped_until timestamptz, slot_count integer)
)
INSERT INTO {RUN} (
    id, job_id, scheduled_for, status, reason, created_at, replica, attempts, lease_until,
    skipped_until, slot_count, task_name, payload, queue, enqueuer, options, delivery)
SELECT
    r.id, moved.job_id, r.scheduled_for, coalesce(r.status, %s), coalesce(r.reason, ''), %s, %s,
    coalesce(r.attempts, 1), CASE WHEN r.status IS NULL THEN coalesce(r.lease_until, %s) END,
    r.skipped_until, coalesce(r.slot_count, 1), moved.task_name, moved.payload, moved.queue,
    moved.enqueuer, moved.options, moved.delivery
FROM r JOIN moved ON moved.id = r.job
ON CONFLICT DO NOTHING
RETURNING id
"""

# Jobs are locked in the order of their keys, so that two replicas cannot wait for each other.
_RECORD = f"""
WITH r AS (
    SELECT * FROM json_to_recordset(%s) AS r(
        id uuid, attempts integer, status text, reason text, task_id text, error text,
        enqueued_at timestamptz, finished_at timestamptz, lease_until timestamptz)
), written AS (
    UPDATE {RUN} AS run SET
        status = r.status,
        reason = coalesce(r.reason, ''),
        task_id = coalesce(r.task_id, ''),
        error = coalesce(r.error, ''),
        enqueued_at = r.enqueued_at,
        finished_at = r.finished_at,
        lease_until = r.lease_until
    FROM r
    WHERE run.id = r.id AND run.attempts = coalesce(r.attempts, 0)
        AND run.status IN ('claimed', 'running')
    RETURNING run.job_id
), locked AS (
    SELECT j.id, v.enqueued_at, v.error
    FROM {JOB} AS j
    JOIN json_to_recordset(%s) AS v(job_id text, enqueued_at timestamptz, error text)
        ON j.job_id = v.job_id
    WHERE v.job_id IN (SELECT job_id FROM written)
    ORDER BY j.id
    FOR NO KEY UPDATE OF j
)
UPDATE {JOB} AS j SET
    last_run_at = greatest(j.last_run_at, locked.enqueued_at),
    last_error = coalesce(locked.error, j.last_error)
FROM locked WHERE j.id = locked.id
"""


class PostgresDialect(Dialect):
    """Data-modifying common table expressions under ``SKIP LOCKED``."""

    def begin(self) -> None:
        # For this transaction only: a pooler may hand the connection to somebody else next.
        with self.connection.cursor() as cursor:
            cursor.execute(_TIMEOUTS, ["5s", "30s"])

    def read(self, order: ClaimOrder) -> list[BatchRow]:
        rows = self._read(NEEDS_PLANNING, order.at, order, order.limit)
        if order.plans_new and len(rows) < order.limit:
            before = NEEDS_PLANNING - timedelta(days=1)
            rows += self._read(before, NEEDS_PLANNING, order, order.limit - len(rows))
        return rows

    def claim(self, moves: Sequence[Move], runs: Sequence[Row], order: ClaimOrder) -> set[UUID]:
        if not moves:
            return set()
        common = new_run(order)
        parameters = [
            _json([_move(row, plan) for row, plan in moves]),
            tzdata_version(),
            _json(runs),
            *(common[name] for name in ("status", "created_at", "replica", "lease_until")),
        ]
        with self.connection.cursor() as cursor:
            cursor.execute(_CLAIM, parameters)
            return {row[0] for row in cursor.fetchall()}

    def record(self, runs: Sequence[Row], jobs: Sequence[Row]) -> None:
        written = [{name: value for name, value in run.items() if value} for run in runs]
        with self.connection.cursor() as cursor:
            cursor.execute(_RECORD, [_json(written), _json(jobs)])

    def _read(
        self, after: datetime, until: datetime, order: ClaimOrder, limit: int
    ) -> list[BatchRow]:
        with self.connection.cursor() as cursor:
            cursor.execute(_READ, [after, until, list(order.excluded), limit])
            return [_batch_row(*row) for row in cursor.fetchall()]


def _batch_row(
    key: int, version: str, due_at: datetime, plan_from: datetime | None, *columns: Any
) -> BatchRow:
    values = list(columns)
    for place in _OBJECTS:
        values[place] = {} if values[place] == "{}" else json.loads(values[place])
    definition = CronJobDefinition(**dict(zip(_DEFINITION, values, strict=True)))
    return BatchRow(key, definition, due_at, plan_from, {"version": version})


def _move(row: BatchRow, plan: JobPlan) -> Row:
    move = {
        "id": row.key,
        "version": row.seen["version"],
        "slot": row.due_at,
        "next": plan.next_run_at,
        "zone": plan.time_zone,
    }
    if plan.is_settled:
        move["settled"] = True
    if plan.error:
        move["error"] = plan.error
    return move


def _json(rows: Sequence[Row]) -> str:
    return json.dumps(rows, default=_text)


def _text(value: Any) -> str:
    return _moment(value) if isinstance(value, datetime) else str(value)


@lru_cache(maxsize=1024)
def _moment(value: datetime) -> str:
    # A batch holds few different moments, each of them many times.
    return value.isoformat()
