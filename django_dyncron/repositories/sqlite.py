"""Claiming and recording on SQLite (3.35 or newer): few statements, one writer at a time.

SQLite compares moments as text, so they travel as the text Django writes, and what is compared
later is read as the text that is stored.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Func, TextField

from ..core.claims import ClaimOrder
from ..core.policies import RunStatus
from .dialects import (
    RECORDED_FIELDS,
    BatchRow,
    Dialect,
    Move,
    Row,
    Won,
    new_run,
    notes_that_stand,
)
from .reading import SEEN_FIELDS, move_row, read_batch
from .tables import JOB, KEEP_INPUTS, RUN


class _Fingerprint(Func):
    """What some columns hold, of whatever type: SQLite stores anything anywhere.

    Literals joined by commas; in hexadecimal digits, because not every text can be read.
    """

    template = "hex(%(expressions)s)"
    arg_joiner = " || ',' || "
    output_field = TextField()


_SEEN = {"seen": _Fingerprint(*(Func(F(name), function="quote") for name in SEEN_FIELDS))}
_SEEN_NOW = f"hex({_Fingerprint.arg_joiner.join(f'quote({name})' for name in SEEN_FIELDS)})"


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in names)


_MOVE_NAMES = (
    "id",
    "next_run_at",
    "is_settled",
    "planned_in_zone",
    "planned_with_tzdata",
    "error",
    "seen",
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
_SWAP = f"""
UPDATE {JOB} SET
    next_run_at = v.next_run_at,
    is_settled = v.is_settled,
    plan_from = NULL,
    planned_in_zone = v.planned_in_zone,
    planned_with_tzdata = v.planned_with_tzdata,
    {KEEP_INPUTS},
    last_error = CASE
        WHEN v.error <> '' THEN v.error
        WHEN {JOB}.is_settled AND {JOB}.planned_in_zone = '' THEN ''
        ELSE last_error END
FROM (SELECT {_columns(_MOVE_NAMES)} FROM json_each(%s)) AS v
WHERE {JOB}.id = v.id AND {_SEEN_NOW} = v.seen
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

# A worker may have begun a run, even ended it, before what its queue answered is written: then only
# the queue's name for it is news. What is lost is another matter: it was begun in this process.
_STANDS = f"({RUN}.started_at IS NULL OR v.status = 'lost')"
_RECORDED = ", ".join(
    f"{name} = CASE WHEN {_STANDS} THEN v.{name} ELSE {RUN}.{name} END"
    for name in RECORDED_FIELDS
    if name != "task_id"
)
_RECORD = f"""
UPDATE {RUN} SET
    {_RECORDED},
    task_id = CASE WHEN {_STANDS} OR v.task_id <> '' THEN v.task_id ELSE {RUN}.task_id END,
    replica = CASE WHEN v.is_given_back THEN '' ELSE replica END
FROM (
    SELECT {_columns(("id", "attempts", "is_given_back", *RECORDED_FIELDS))} FROM json_each(%s)
) AS v
WHERE {RUN}.id = v.id AND {RUN}.attempts = v.attempts
    AND ({RUN}.status IN ('claimed', 'running') OR NOT {_STANDS})
RETURNING job_id, started_at, status
"""

_NOTE = f"""
UPDATE {JOB} SET
    last_run_at = coalesce(max(last_run_at, v.enqueued_at), last_run_at, v.enqueued_at),
    last_error = coalesce(v.error, last_error)
FROM (SELECT {_columns(("job_id", "enqueued_at", "error"))} FROM json_each(%s)) AS v
WHERE {JOB}.job_id = v.job_id
"""


class SqliteDialect(Dialect):
    """One write after another under SQLite's single write lock."""

    def begin(self, *, writes_at_once: bool = False) -> None:
        if writes_at_once:
            return
        # A transaction that reads first cannot wait for the write lock: it fails at once with
        # "database is locked", whatever the timeout. So take the lock before reading.
        with self.connection.cursor() as cursor:
            cursor.execute(f"UPDATE {RUN} SET id = id WHERE false")

    def read(self, order: ClaimOrder) -> list[BatchRow]:
        return read_batch(self.connection.alias, order, _SEEN)

    def claim(self, moves: Sequence[Move], runs: Sequence[Row], order: ClaimOrder) -> Won:
        if not moves:
            return Won((), ())
        with self.connection.cursor() as cursor:
            cursor.execute(_SWAP, [self._json([move_row(*move) for move in moves])])
            moved = {row[0] for row in cursor.fetchall()}
            common = new_run(order)
            added = [{**common, **run} for run in runs if run["job"] in moved]
            if not added:
                return Won(moved, ())
            cursor.execute(_ADD, [self._json(added)])
            return Won(moved, {UUID(row[0]) for row in cursor.fetchall()})

    def record(self, runs: Sequence[Row], notes: Sequence[Row]) -> Collection[str]:
        with self.connection.cursor() as cursor:
            cursor.execute(_RECORD, [self._json(runs)])
            written = [
                (job_id, started_at is None or status == RunStatus.LOST)
                for job_id, started_at, status in cursor.fetchall()
            ]
        return self.note(notes_that_stand(notes, written))

    def note(self, notes: Sequence[Row]) -> Collection[str]:
        with self.connection.cursor() as cursor:
            cursor.execute(_NOTE, [self._json(notes)])
        return ()

    def _json(self, rows: Sequence[Row]) -> str:
        return json.dumps(rows, default=self._text)

    def _text(self, value: Any) -> str:
        if isinstance(value, datetime):
            return str(self.connection.ops.adapt_datetimefield_value(value))
        if isinstance(value, UUID):
            return value.hex
        return str(value)
