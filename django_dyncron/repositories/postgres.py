"""Claiming and recording on PostgreSQL: one statement each, whatever the number of rows.

Rows travel as one JSON parameter: Django binds on the client, where arrays cost a third more.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from ..core.claims import ClaimOrder
from ..core.definitions import CronJobDefinition
from ..core.planning import JobPlan
from ..core.tzdata import tzdata_version
from ..models import NEEDS_PLANNING
from .dialects import BatchRow, Dialect, Move, Row, Won, new_run
from .reading import PLANNING_FIELDS, is_about_a_value, unreadable_row
from .tables import JOB, KEEP_INPUTS, RUN

_TIMEOUTS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"

_OBJECTS = [PLANNING_FIELDS.index(name) for name in ("payload", "options")]

_COLUMNS = f"id, xmin::text, due_at, plan_from, {', '.join(PLANNING_FIELDS)}"
_BATCH = f"""
FROM {JOB}
WHERE due_at > %s AND due_at <= %s AND id <> ALL(%s)
ORDER BY due_at
LIMIT %s
FOR NO KEY UPDATE SKIP LOCKED
"""
_READ = f"SELECT {_COLUMNS}{_BATCH}"
_READ_KEYS = f"SELECT id, xmin::text, due_at, job_id{_BATCH}"
_READ_ONE = f"SELECT {_COLUMNS} FROM {JOB} WHERE id = %s"

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
        {KEEP_INPUTS},
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
), added AS (
    INSERT INTO {RUN} (
        id, job_id, scheduled_for, status, reason, created_at, replica, attempts, lease_until,
        skipped_until, slot_count, task_name, payload, queue, enqueuer, options, delivery)
    SELECT
        r.id, moved.job_id, r.scheduled_for, coalesce(r.status, %s), coalesce(r.reason, ''), %s,
        %s, coalesce(r.attempts, 1),
        CASE WHEN r.status IS NULL THEN coalesce(r.lease_until, %s) END,
        r.skipped_until, coalesce(r.slot_count, 1), moved.task_name, moved.payload, moved.queue,
        moved.enqueuer, moved.options, moved.delivery
    FROM r JOIN moved ON moved.id = r.job
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT id, NULL::bigint FROM added
UNION ALL
SELECT NULL, id FROM (SELECT id FROM v EXCEPT SELECT id FROM moved) AS unmoved
"""

_NOTES = "json_to_recordset(%s) AS v(job_id text, enqueued_at timestamptz, error text)"
# Whoever holds a job's row locked must not hold up the others.
_NOTE_ON_FREE = f"""
    FOR NO KEY UPDATE OF j SKIP LOCKED
), noted AS (
    UPDATE {JOB} AS j SET
        last_run_at = greatest(j.last_run_at, free.enqueued_at),
        last_error = coalesce(free.error, j.last_error)
    FROM free
    WHERE j.id = free.id
    RETURNING j.job_id
)
"""

# A worker may have begun a run, even ended it, before what its queue answered is written: then only
# the queue's name for it is news. What is lost is another matter: it was begun in this process.
_STANDS = "(run.started_at IS NULL OR r.status = 'lost')"
_RECORD = f"""
WITH r AS (
    SELECT * FROM json_to_recordset(%s) AS r(
        id uuid, attempts integer, status text, reason text, task_id text, error text,
        enqueued_at timestamptz, finished_at timestamptz, lease_until timestamptz,
        is_given_back boolean)
), written AS (
    UPDATE {RUN} AS run SET
        status = CASE WHEN {_STANDS} THEN r.status ELSE run.status END,
        reason = CASE WHEN {_STANDS} THEN coalesce(r.reason, '') ELSE run.reason END,
        task_id = coalesce(r.task_id, CASE WHEN {_STANDS} THEN '' ELSE run.task_id END),
        error = CASE WHEN {_STANDS} THEN coalesce(r.error, '') ELSE run.error END,
        enqueued_at = CASE WHEN {_STANDS} THEN r.enqueued_at ELSE run.enqueued_at END,
        finished_at = CASE WHEN {_STANDS} THEN r.finished_at ELSE run.finished_at END,
        lease_until = CASE WHEN {_STANDS} THEN r.lease_until ELSE run.lease_until END,
        replica = CASE WHEN r.is_given_back THEN '' ELSE run.replica END
    FROM r
    WHERE run.id = r.id AND run.attempts = coalesce(r.attempts, 0)
        AND (run.status IN ('claimed', 'running') OR NOT {_STANDS})
    RETURNING run.job_id, {_STANDS} AS stands
), free AS (
    SELECT j.id, v.enqueued_at, CASE WHEN stands THEN v.error END AS error
    FROM {JOB} AS j JOIN {_NOTES} ON j.job_id = v.job_id
    JOIN (SELECT job_id, bool_and(stands) AS stands FROM written GROUP BY job_id) AS w
        ON w.job_id = v.job_id
    {_NOTE_ON_FREE}
SELECT job_id FROM written EXCEPT SELECT job_id FROM noted
"""

_NOTE = f"""
WITH v AS (
    SELECT * FROM {_NOTES}
), free AS (
    SELECT j.id, v.enqueued_at, v.error
    FROM {JOB} AS j JOIN v ON j.job_id = v.job_id
    {_NOTE_ON_FREE}
SELECT job_id FROM v JOIN {JOB} USING (job_id) EXCEPT SELECT job_id FROM noted
"""


class PostgresDialect(Dialect):
    """Data-modifying common table expressions under ``SKIP LOCKED``."""

    def begin(self, *, writes_at_once: bool = False) -> None:
        # For this transaction only: a pooler may hand the connection to somebody else next.
        with self.connection.cursor() as cursor:
            cursor.execute(_TIMEOUTS, ["5s", "30s"])

    def read(self, order: ClaimOrder) -> list[BatchRow]:
        excluded = list(order.excluded)
        rows = self._read(NEEDS_PLANNING, order.at, excluded, order.limit)
        if order.plans_new and len(rows) < order.limit:
            rows += self._read("-infinity", NEEDS_PLANNING, excluded, order.limit - len(rows))
        return rows

    def claim(self, moves: Sequence[Move], runs: Sequence[Row], order: ClaimOrder) -> Won:
        if not moves:
            return Won((), ())
        common = new_run(order)
        parameters = [
            _json([_move(row, plan) for row, plan in moves]),
            tzdata_version(),
            _json(runs),
            *(common[name] for name in ("status", "created_at", "replica", "lease_until")),
        ]
        with self.connection.cursor() as cursor:
            cursor.execute(_CLAIM, parameters)
            answer = cursor.fetchall()
        unmoved = {key for _, key in answer if key is not None}
        return Won(
            jobs={row.key for row, _ in moves} - unmoved,
            runs={run_id for run_id, _ in answer if run_id is not None},
        )

    def record(self, runs: Sequence[Row], notes: Sequence[Row]) -> Collection[str]:
        written = [{name: value for name, value in run.items() if value} for run in runs]
        return self._locked(_RECORD, [_json(written), _json(notes)])

    def note(self, notes: Sequence[Row]) -> Collection[str]:
        return self._locked(_NOTE, [_json(notes)])

    def _locked(self, statement: str, parameters: Sequence[Any]) -> Collection[str]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return {job_id for (job_id,) in cursor.fetchall()}

    def _read(self, *bounds: Any) -> list[BatchRow]:
        """Read rows by ``bounds``: ``due_at`` after and until, keys to leave out, how many."""
        with self.connection.cursor() as cursor:
            cursor.execute(_READ, bounds)
            try:
                return [_batch_row(*row) for row in cursor.fetchall()]
            except Exception as error:
                if not is_about_a_value(error):
                    raise
            # Find the row by reading one at a time: the others must go on.
            cursor.execute(_READ_KEYS, bounds)
            return [self._read_alone(*row) for row in cursor.fetchall()]

    def _read_alone(self, key: int, version: str, due_at: datetime, job_id: str) -> BatchRow:
        with self.connection.cursor() as cursor:
            cursor.execute(_READ_ONE, [key])
            try:
                return _batch_row(*cursor.fetchone())
            except Exception as error:
                if not is_about_a_value(error):
                    raise
                return unreadable_row(key, job_id, error, {"version": version}, due_at)


def _batch_row(
    key: int, version: str, due_at: datetime, plan_from: datetime | None, *columns: Any
) -> BatchRow:
    values = list(columns)
    for place in _OBJECTS:
        values[place] = {} if values[place] == "{}" else json.loads(values[place])
    definition = CronJobDefinition(**dict(zip(PLANNING_FIELDS, values, strict=True)))
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
