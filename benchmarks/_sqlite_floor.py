"""The floor on SQLite: what a burst costs through the :mod:`sqlite3` module."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django_dyncron.core.definitions import CronJobDefinition, Slot
from django_dyncron.core.planning import PlanningRules, plan_job
from django_dyncron.core.tzdata import tzdata_version

_PREFIX = "dyncron"
_LEASE = timedelta(seconds=60)

_READ = """
    SELECT id, due_at, payload, options, starts_at, ends_at, job_id, task_name, cron_expression,
        queue, is_active, time_zone, dst_gap, dst_fold, misfire_policy, max_catch_up,
        catch_up_window_seconds, overlap_policy, max_run_seconds, jitter_seconds, delivery, enqueuer
    FROM django_dyncron_cronjob
    WHERE due_at > '1970-01-01 00:00:00' AND due_at <= ? ORDER BY due_at LIMIT ?
"""
_MOVE = """
    UPDATE django_dyncron_cronjob SET
        next_run_at = ?, is_settled = 0, plan_from = NULL, planned_in_zone = 'UTC',
        planned_with_tzdata = ?, planned_cron_expression = cron_expression,
        planned_time_zone = time_zone, planned_dst_gap = dst_gap, planned_dst_fold = dst_fold,
        planned_starts_at = starts_at, planned_ends_at = ends_at, last_error = last_error
    WHERE id = ? AND next_run_at = ?
"""
_ADD = """
    INSERT INTO django_dyncron_cronrun (
        id, job_id, scheduled_for, status, reason, created_at, replica, attempts, lease_until,
        slot_count, task_name, payload, queue, enqueuer, options, delivery)
    SELECT ?, job_id, ?, 'claimed', '', ?, 'floor', 1, ?, 1, task_name, payload, queue, enqueuer,
        options, delivery
    FROM django_dyncron_cronjob WHERE id = ?
    ON CONFLICT DO NOTHING
"""
_RECORD_RUN = """
    UPDATE django_dyncron_cronrun SET
        status = 'enqueued', reason = '', task_id = '', error = '', enqueued_at = ?,
        finished_at = NULL, lease_until = NULL
    WHERE id = ? AND status = 'claimed'
"""
_RECORD_JOB = """
    UPDATE django_dyncron_cronjob
    SET last_run_at = coalesce(max(last_run_at, ?1), ?1), last_error = '' WHERE job_id = ?2
"""
_COLUMNS = (
    *("job_id", "task_name", "cron_expression", "queue", "is_active", "time_zone", "dst_gap"),
    *("dst_fold", "misfire_policy", "max_catch_up", "catch_up_window_seconds", "overlap_policy"),
    *("max_run_seconds", "jitter_seconds", "delivery", "enqueuer"),
)


class SqliteFloor:
    """A plain program on a file."""

    def __init__(self, file: str, batch_size: int) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None, timeout=20)
        self._batch_size = batch_size
        self._rules = PlanningRules()

    def work_off(self, at: datetime) -> int:
        """Claim, enqueue and record all that is due ``at``; return how many runs that were."""
        execute, total = self._connection.execute, 0
        enqueued: list[tuple[str, str]] = []
        while True:
            execute("BEGIN IMMEDIATE")
            self._record(enqueued, at)
            rows = execute(_READ, [_text(at), self._batch_size]).fetchall()
            enqueued = self._claim(rows, at)
            execute("COMMIT")
            if not rows:
                return total
            total += len(enqueued)

    def _claim(self, rows: Sequence[Any], at: datetime) -> list[tuple[str, str]]:
        moves, runs, claimed = [], [], []
        for key, due_at, payload, options, starts_at, ends_at, *values in rows:
            job = CronJobDefinition(
                **dict(zip(_COLUMNS, values, strict=True)),
                payload=json.loads(payload),
                options=json.loads(options),
                starts_at=_moment(starts_at),
                ends_at=_moment(ends_at),
            )
            plan = plan_job(job, _moment(due_at), at, self._rules)
            moves.append((_text(plan.next_run_at), tzdata_version(), key, due_at))
            for run in plan.runs:
                run_id = Slot(job.job_id, run.scheduled_for).run_id(_PREFIX).hex
                runs.append((run_id, _text(run.scheduled_for), _text(at), _text(at + _LEASE), key))
                claimed.append((run_id, job.job_id))
        self._connection.executemany(_MOVE, moves)
        self._connection.executemany(_ADD, runs)
        return claimed

    def _record(self, enqueued: Sequence[tuple[str, str]], at: datetime) -> None:
        moment = _text(at)
        self._connection.executemany(_RECORD_RUN, [(moment, run) for run, _ in enqueued])
        self._connection.executemany(_RECORD_JOB, [(moment, job) for _, job in enqueued])

    def close(self) -> None:
        self._connection.close()


def _text(moment: datetime | None) -> str | None:
    # As Django writes it.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ") if moment else None


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
