"""Claiming and recording on PostgreSQL: one statement each, whatever the number of rows.

Rows travel as one JSON parameter: Django binds on the client, where arrays cost a third more.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
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

# As text, because Django's way to a moment costs as much as all other columns together; and by
# another name, because ORDER BY means what is selected before it means what is stored.
_COLUMNS = f"id, xmin::text, due_at::text AS slot, plan_from, {', '.join(PLANNING_FIELDS)}"
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
SELECT id, NULL::uuid FROM (SELECT id FROM v EXCEPT SELECT id FROM moved) AS unmoved
UNION ALL
SELECT NULL, id FROM (SELECT id FROM r EXCEPT SELECT id FROM added) AS unadded
"""

# Whoever holds a job's row locked must not hold up the others. A locked row keeps its place (ctid),
# which spares an index; a version newer than this statement is not seen there, and noted on later.
_NOTE_ON_FREE = f"""
    FOR NO KEY UPDATE OF j SKIP LOCKED
), noted AS (
    UPDATE {JOB} AS j SET
        last_run_at = greatest(j.last_run_at, free.enqueued_at),
        last_error = coalesce(free.error, j.last_error)
    FROM free
    WHERE j.ctid = free.ctid
    RETURNING j.job_id
)
"""

# A worker may have begun a run, even ended it, before what its queue answered is written: then only
# the queue's name for it is news. What is lost is another matter: it was begun in this process.
#
# CASE where OR would say the same, because of OR the planner also makes a filter of its own. While
# nothing is in hand, statistics promise it one row at most; it then reads the whole table and
# compares every run in hand with every record.
_STANDS = "(run.started_at IS NULL OR r.status = 'lost')"
_RECORD = f"""
WITH r AS (
    SELECT * FROM json_to_recordset(%s) AS r(
        id uuid, attempts integer, status text, reason text, task_id text, error text,
        enqueued_at timestamptz, finished_at timestamptz, lease_until timestamptz,
        is_given_back boolean, noted_at timestamptz, noted_error text)
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
        AND CASE WHEN run.status IN ('claimed', 'running') THEN true ELSE NOT {_STANDS} END
    RETURNING run.job_id, r.noted_at, r.noted_error, {_STANDS} AS stands
), of_job AS (
    SELECT job_id, max(noted_at) AS enqueued_at,
        CASE WHEN bool_and(stands) THEN max(noted_error) END AS error
    FROM written GROUP BY job_id
), free AS (
    SELECT j.ctid, of_job.enqueued_at, of_job.error
    FROM {JOB} AS j JOIN of_job ON j.job_id = of_job.job_id
    {_NOTE_ON_FREE}
SELECT job_id FROM written EXCEPT SELECT job_id FROM noted
"""

_NOTE = f"""
WITH v AS (
    SELECT * FROM json_to_recordset(%s) AS v(job_id text, enqueued_at timestamptz, error text)
), free AS (
    SELECT j.ctid, v.enqueued_at, v.error
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
        # It tells of what did not succeed, which hardly ever is anything.
        return Won(
            jobs={row.key for row, _ in moves} - {key for key, _ in answer},
            runs={run["id"] for run in runs} - {run_id for _, run_id in answer},
        )

    def record(self, runs: Sequence[Row], notes: Sequence[Row]) -> Collection[str]:
        of_job = {note["job_id"]: note for note in notes}
        written = [_written(run, of_job[run["job_id"]]) for run in runs]
        return self._locked(_RECORD, [_json(written)])

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
    key: int, version: str, slot: str, plan_from: datetime | None, *columns: Any
) -> BatchRow:
    values = dict(zip(PLANNING_FIELDS, columns, strict=True))
    for name in ("payload", "options"):
        values[name] = {} if values[name] == "{}" else json.loads(values[name])
    definition = CronJobDefinition(**values)
    # The text is in the zone of the session, which a project may set.
    due_at = datetime.fromisoformat(slot).astimezone(UTC)
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


def _written(run: Row, note: Row) -> Row:
    """Return ``run`` with the ``note`` on its job, which is the same in all runs of that job."""
    row = {name: value for name, value in run.items() if value and name != "job_id"}
    if note["enqueued_at"] is not None:
        row["noted_at"] = note["enqueued_at"]
    if note["error"] is not None:
        row["noted_error"] = note["error"]
    return row


def _json(rows: Sequence[Row]) -> str:
    # No row holds itself; looking for that takes a fifth of the time.
    return json.dumps(rows, default=_text, check_circular=False)


def _text(value: Any) -> str:
    return _moment(value) if isinstance(value, datetime) else str(value.hex)


@lru_cache(maxsize=1024)
def _moment(value: datetime) -> str:
    # A batch holds few different moments, each of them many times.
    return value.isoformat()
