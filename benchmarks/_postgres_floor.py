"""The floor on PostgreSQL: what a burst costs in plain psycopg.

It reads, plans and writes all that a scheduler does, the same columns in as many transactions, set
by set. It lacks only what makes a scheduler of it: ports, isolation of faults, retries, observers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import time
from typing import Any, Protocol
from uuid import UUID

import psycopg
import redis

from django_dyncron.core.definitions import CronJobDefinition, Slot
from django_dyncron.core.planning import PlanningRules, plan_job
from django_dyncron.core.tzdata import tzdata_version

_PREFIX = "dyncron"
_LEASE = timedelta(seconds=60)

_READ = """
    SELECT id, due_at, job_id, task_name, cron_expression, payload, queue, is_active, time_zone,
        dst_gap, dst_fold, starts_at, ends_at, misfire_policy, max_catch_up,
        catch_up_window_seconds, overlap_policy, max_run_seconds, jitter_seconds, delivery,
        enqueuer, options
    FROM django_dyncron_cronjob
    WHERE due_at > 'epoch' AND due_at <= %s
    ORDER BY due_at LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
"""
_CLAIM = """
    WITH moved AS (
        UPDATE django_dyncron_cronjob AS j SET
            next_run_at = v.next, is_settled = false, plan_from = NULL, planned_in_zone = 'UTC',
            planned_with_tzdata = %s, planned_cron_expression = j.cron_expression,
            planned_time_zone = j.time_zone, planned_dst_gap = j.dst_gap,
            planned_dst_fold = j.dst_fold, planned_starts_at = j.starts_at,
            planned_ends_at = j.ends_at, last_error = j.last_error
        FROM json_to_recordset(%s) AS v(id bigint, slot timestamptz, next timestamptz)
        WHERE j.id = v.id AND j.next_run_at = v.slot
        RETURNING j.*
    )
    INSERT INTO django_dyncron_cronrun (
        id, job_id, scheduled_for, status, reason, created_at, replica, attempts, lease_until,
        slot_count, task_name, payload, queue, enqueuer, options, delivery)
    SELECT r.run, moved.job_id, r.slot, 'claimed', '', %s, 'floor', 1, %s, 1, moved.task_name,
        moved.payload, moved.queue, moved.enqueuer, moved.options, moved.delivery
    FROM json_to_recordset(%s) AS r(id bigint, run uuid, slot timestamptz)
    JOIN moved ON moved.id = r.id
    ON CONFLICT DO NOTHING
    RETURNING id
"""
_RECORD = """
    WITH written AS (
        UPDATE django_dyncron_cronrun AS run SET
            status = 'enqueued', reason = '', task_id = '', error = '', enqueued_at = %(at)s,
            finished_at = NULL, lease_until = NULL
        FROM json_array_elements_text(%(runs)s::json) AS r(id)
        WHERE run.id = r.id::uuid AND CASE WHEN run.status = 'claimed' THEN true END
        RETURNING run.job_id
    )
    UPDATE django_dyncron_cronjob AS j
    SET last_run_at = greatest(j.last_run_at, %(at)s), last_error = ''
    FROM written WHERE j.job_id = written.job_id
"""
_COLUMNS = (
    *("job_id", "task_name", "cron_expression", "payload", "queue", "is_active", "time_zone"),
    *("dst_gap", "dst_fold", "starts_at", "ends_at", "misfire_policy", "max_catch_up"),
    *("catch_up_window_seconds", "overlap_policy", "max_run_seconds", "jitter_seconds"),
    *("delivery", "enqueuer", "options"),
)


class Locks(Protocol):
    """Takes and gives back the locks of a batch, the plainest way."""

    def take(self, keys: list[str]) -> set[str]: ...

    def give_back(self, keys: list[str]) -> None: ...


class PostgresFloor:
    """A plain program on the database of ``url``, with ``locks`` if there are any.

    ``hand_over`` puts as many runs as it is told into a queue; by default they are forgotten.
    """

    def __init__(
        self,
        url: str,
        batch_size: int,
        locks: Locks | None = None,
        hand_over: Callable[[int], object] | None = None,
    ) -> None:
        self._connection = psycopg.connect(url)
        self._batch_size = batch_size
        self._locks = locks
        self._hand_over = hand_over
        self._rules = PlanningRules()
        self.handed_over_at: list[float] = []
        """When each run would have gone to the queue, in seconds since the epoch."""

    def work_off(self, at: datetime) -> int:
        """Claim, enqueue and record all that is due ``at``; return how many runs that were."""
        cursor, total, enqueued = self._connection.cursor(), 0, ""
        while True:
            if enqueued:
                cursor.execute(_RECORD, {"runs": enqueued, "at": at})
            rows = cursor.execute(_READ, [at, self._batch_size]).fetchall()
            claimed, keys = self._claim(cursor, rows, at) if rows else ([], [])
            self._connection.commit()
            if self._locks and keys:
                self._locks.give_back(keys)
            if not rows:
                return total
            total += len(claimed)
            if self._hand_over:
                self._hand_over(len(claimed))
            self.handed_over_at += [time()] * len(claimed)
            enqueued = json.dumps([str(run) for run in claimed])

    def _claim(
        self, cursor: psycopg.Cursor[Any], rows: Sequence[Any], at: datetime
    ) -> tuple[list[UUID], list[str]]:
        moves, runs, keys = [], [], []
        for key, slot, *values in rows:
            job = CronJobDefinition(**dict(zip(_COLUMNS, values, strict=True)))
            plan = plan_job(job, slot, at, self._rules)
            moves.append({"id": key, "slot": slot.isoformat(), "next": _text(plan.next_run_at)})
            for run in plan.runs:
                of_run = Slot(job.job_id, run.scheduled_for)
                runs.append(
                    {
                        "id": key,
                        "run": str(of_run.run_id(_PREFIX)),
                        "slot": of_run.scheduled_for.isoformat(),
                    }
                )
                keys.append(of_run.lock_key(_PREFIX))
        if self._locks:
            assert self._locks.take(keys) == set(keys)
        parameters = [tzdata_version(), json.dumps(moves), at, at + _LEASE, json.dumps(runs)]
        return [row[0] for row in cursor.execute(_CLAIM, parameters)], keys

    def close(self) -> None:
        self._connection.close()


class PostgresLocks:
    """Locks in a table, on a connection of their own."""

    _TAKE = """
        INSERT INTO django_dyncron_cronlock AS held (lock_key, expires_at, owner)
        SELECT key, clock_timestamp() + interval '60 seconds', 'floor'
        FROM json_array_elements_text(%s::json) AS wanted(key) ORDER BY key COLLATE "C"
        ON CONFLICT (lock_key) DO UPDATE SET expires_at = excluded.expires_at, owner = 'floor'
        WHERE held.expires_at < clock_timestamp()
        RETURNING lock_key
    """
    _GIVE_BACK = """
        DELETE FROM django_dyncron_cronlock AS held
        USING json_array_elements_text(%s::json) AS given(key)
        WHERE held.lock_key = given.key AND held.owner = 'floor'
    """

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def take(self, keys: list[str]) -> set[str]:
        taken = self._connection.execute(self._TAKE, [json.dumps(keys)])
        return {key for (key,) in taken}

    def give_back(self, keys: list[str]) -> None:
        self._connection.execute(self._GIVE_BACK, [json.dumps(keys)])


class RedisLocks:
    """Locks in Redis, one script a batch."""

    _TAKE = """
        local taken = {}
        for index, key in ipairs(KEYS) do
            if redis.call('SET', key, ARGV[1], 'NX', 'EX', 60) then taken[#taken + 1] = index end
        end
        return taken
    """
    _GIVE_BACK = """
        for _, key in ipairs(KEYS) do
            if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
        end
    """

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)

    def take(self, keys: list[str]) -> set[str]:
        taken = self._client.eval(self._TAKE, len(keys), *keys, "floor")
        return {keys[index - 1] for index in taken}

    def give_back(self, keys: list[str]) -> None:
        self._client.eval(self._GIVE_BACK, len(keys), *keys, "floor")


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
