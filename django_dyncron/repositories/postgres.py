"""Claiming and recording on PostgreSQL: one statement each, whatever the number of rows.

Rows travel as one JSON parameter: Django binds on the client, where arrays cost a third more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from .dialects import Dialect, Row
from .tables import JOB, RUN

_TIMEOUTS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"

_CLAIM = f"""
WITH v AS (
    SELECT * FROM json_to_recordset(%s) AS v(
        id bigint, next_run_at timestamptz, is_settled boolean, planned_in_zone text,
        planned_with_tzdata text, error text,
        seen_due_at timestamptz, seen_plan_from timestamptz, seen_cron_expression text,
        seen_time_zone text, seen_dst_gap text, seen_dst_fold text, seen_starts_at timestamptz,
        seen_ends_at timestamptz, seen_is_active boolean)
), moved AS (
    UPDATE {JOB} AS j SET
        next_run_at = v.next_run_at,
        is_settled = v.is_settled,
        plan_from = NULL,
        planned_in_zone = v.planned_in_zone,
        planned_with_tzdata = v.planned_with_tzdata,
        planned_cron_expression = j.cron_expression,
        planned_time_zone = j.time_zone,
        planned_dst_gap = j.dst_gap,
        planned_dst_fold = j.dst_fold,
        planned_starts_at = j.starts_at,
        planned_ends_at = j.ends_at,
        last_error = CASE
            WHEN v.error <> '' THEN v.error
            WHEN j.is_settled AND j.planned_in_zone = '' THEN ''
            ELSE j.last_error END
    FROM v
    WHERE j.id = v.id
        AND j.due_at = v.seen_due_at
        AND j.plan_from IS NOT DISTINCT FROM v.seen_plan_from
        AND j.is_active = v.seen_is_active
        AND j.cron_expression = v.seen_cron_expression
        AND j.time_zone = v.seen_time_zone
        AND j.dst_gap = v.seen_dst_gap
        AND j.dst_fold = v.seen_dst_fold
        AND j.starts_at IS NOT DISTINCT FROM v.seen_starts_at
        AND j.ends_at IS NOT DISTINCT FROM v.seen_ends_at
    RETURNING j.id, j.job_id, j.task_name, j.payload, j.queue, j.enqueuer, j.options, j.delivery
), r AS (
    SELECT * FROM json_to_recordset(%s) AS r(
        job bigint, id uuid, scheduled_for timestamptz, status text, reason text,
        created_at timestamptz, replica text, attempts integer, lease_until timestamptz,
        skipped_until timestamptz, slot_count integer)
)
INSERT INTO {RUN} (
    id, job_id, scheduled_for, status, reason, created_at, replica, attempts, lease_until,
    skipped_until, slot_count, task_name, payload, queue, enqueuer, options, delivery)
SELECT
    r.id, moved.job_id, r.scheduled_for, r.status, r.reason, r.created_at, r.replica, r.attempts,
    r.lease_until, r.skipped_until, r.slot_count, moved.task_name, moved.payload, moved.queue,
    moved.enqueuer, moved.options, moved.delivery
FROM r JOIN moved ON moved.id = r.job
ON CONFLICT DO NOTHING
RETURNING id
"""

# Jobs are locked in the order of their keys, so that two replicas cannot wait for each other.
_RECORD = f"""
WITH r AS (
    SELECT * FROM json_to_recordset(%s) AS r(
        id uuid, status text, reason text, task_id text, error text, enqueued_at timestamptz,
        finished_at timestamptz, lease_until timestamptz)
), written AS (
    UPDATE {RUN} AS run SET
        status = r.status,
        reason = r.reason,
        task_id = r.task_id,
        error = r.error,
        enqueued_at = r.enqueued_at,
        finished_at = r.finished_at,
        lease_until = r.lease_until
    FROM r
    WHERE run.id = r.id AND run.status IN ('claimed', 'running')
), locked AS (
    SELECT j.id, v.enqueued_at, v.error
    FROM {JOB} AS j
    JOIN json_to_recordset(%s) AS v(job_id text, enqueued_at timestamptz, error text)
        ON j.job_id = v.job_id
    ORDER BY j.id
    FOR NO KEY UPDATE OF j
)
UPDATE {JOB} AS j SET
    last_run_at = greatest(j.last_run_at, locked.enqueued_at),
    last_error = coalesce(locked.error, j.last_error)
FROM locked WHERE j.id = locked.id
"""


class PostgresDialect(Dialect):
    """Data-modifying common table expressions under ``FOR UPDATE SKIP LOCKED``."""

    def begin(self) -> None:
        # For this transaction only: a pooler may hand the connection to somebody else next.
        with self.connection.cursor() as cursor:
            cursor.execute(_TIMEOUTS, ["5s", "30s"])

    def claim(self, cursors: Sequence[Row], runs: Sequence[Row]) -> set[UUID]:
        if not cursors:
            return set()
        with self.connection.cursor() as cursor:
            cursor.execute(_CLAIM, [_json(cursors), _json(runs)])
            return {row[0] for row in cursor.fetchall()}

    def record(self, runs: Sequence[Row], jobs: Sequence[Row]) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(_RECORD, [_json(runs), _json(jobs)])


def _json(rows: Sequence[Row]) -> str:
    return json.dumps(rows, default=_text)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
