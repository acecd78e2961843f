"""The tables of the store in memory, and what happens to them inside a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from ..core.claims import ClaimOrder, StoredJob, SweepOrder
from ..core.definitions import CronJobDefinition, Run, Slot, range_id
from ..core.leases import close_expired
from ..core.planning import JobPlan, PlannedRun, without_overlap
from ..core.policies import UNFINISHED, MisfirePolicy, OverlapPolicy, RunKind, RunStatus
from ..core.runs import Record
from ..core.text import storable
from .rows import StoredRow, StoredRun

IN_HAND = (RunStatus.CLAIMED, RunStatus.RUNNING)
"""Runs that a replica answers for: what records are about, and what is never pruned."""


@dataclass
class Tables:
    """Jobs by key, runs by id, and the keys of the jobs that somebody has locked."""

    rows: dict[int, StoredRow] = field(default_factory=dict)
    runs: dict[UUID, StoredRun] = field(default_factory=dict)
    locked: set[int] = field(default_factory=set)

    def plan(
        self, order: ClaimOrder, rows: Iterable[StoredRow]
    ) -> list[tuple[StoredJob, JobPlan, StoredRow]]:
        """Plan ``rows`` until there are runs enough for one batch."""
        plans: list[tuple[StoredJob, JobPlan, StoredRow]] = []
        count = 0
        for row in rows:
            stored = StoredJob(row.key, row.job, row.due_at, row.plan_from)
            plan = order.plan(stored)
            plans.append((stored, self.apart(plan, row, order.at), row))
            count += len(plan.runs)
            if count >= order.max_runs:
                break
        return plans

    def apart(self, plan: JobPlan, row: StoredRow, at: datetime) -> JobPlan:
        if row.job.overlap_policy != OverlapPolicy.SKIP or not plan.runs:
            return plan
        oldest = at - timedelta(seconds=row.job.max_run_seconds)
        is_running = any(
            stored.run.job_id == row.job.job_id
            and stored.status in UNFINISHED
            and stored.run.created_at is not None
            and stored.run.created_at >= oldest
            for stored in self.runs.values()
        )
        return without_overlap(plan, is_running=is_running)

    def deliver_inside(
        self, order: ClaimOrder | SweepOrder, runs: Sequence[Run]
    ) -> Sequence[Record]:
        if order.deliver_inside is None or not runs:
            return ()
        records = order.deliver_inside(runs, "memory", nullcontext, order.at)
        self.write(records)
        return records

    def lock_batch(self, order: ClaimOrder) -> list[StoredRow]:
        free = [
            row
            for row in self.rows.values()
            if row.key not in self.locked and row.key not in order.excluded
        ]
        due = [row for row in free if (moment := row.due_at) is not None and moment <= order.at]
        rows = sorted(due, key=lambda row: row.due_at or order.at)[: order.limit]
        if order.plans_new:
            rows += [row for row in free if row.needs_planning][: order.limit - len(rows)]
        self.locked |= {row.key for row in rows}
        return rows

    async def refused(
        self, order: ClaimOrder, plans: Iterable[tuple[StoredJob, JobPlan, StoredRow]]
    ) -> set[int]:
        if order.gate is None:
            return set()
        slots = {
            stored.key: {Slot(stored.definition.job_id, run.scheduled_for) for run in plan.runs}
            for stored, plan, _ in plans
        }
        wanted = [slot for of_job in slots.values() for slot in of_job]
        admitted = set(await order.gate(wanted)) if wanted else set()
        return {key for key, of_job in slots.items() if not of_job <= admitted}

    def new_runs(
        self, order: ClaimOrder, stored: StoredJob, plan: JobPlan, row: StoredRow
    ) -> Iterable[StoredRun]:
        for planned in plan.runs:
            run = _run_of(row.job, planned, order)
            if run.run_id not in self.runs:
                yield StoredRun(
                    run,
                    RunStatus.CLAIMED,
                    replica=order.replica_id,
                    attempts=run.attempts,
                    lease_until=run.lease_until,
                )
        for skip in plan.skips:
            run = _run_of(row.job, PlannedRun(skip.first, skip.first), order)
            if skip.count > 1:
                name = range_id(order.key_prefix, run.job_id, skip.first, skip.last)
                run = replace(run, run_id=name)
            if run.run_id not in self.runs:
                yield StoredRun(
                    run, RunStatus.SKIPPED, skip.reason, count=skip.count, until=skip.last
                )

    def write(self, records: Sequence[Record]) -> None:
        for record in records:
            if self._goes_its_own_way(record):
                continue
            stored = self.run_of(record.run, *IN_HAND)
            if stored is None:
                continue
            stored.status, stored.reason = record.status, record.reason
            stored.error, stored.task_id = storable(record.error), storable(record.task_id)[:255]
            if record.is_given_back:
                stored.replica = ""
            stored.enqueued_at, stored.finished_at = record.enqueued_at, record.finished_at
            stored.lease_until = record.lease_until
            for row in self._rows_of(record.run.job_id):
                _note(row, record)

    def _goes_its_own_way(self, record: Record) -> bool:
        """Note what is news about a run that a worker has begun; tell whether it is one."""
        stored = self.runs.get(record.run.run_id)
        is_begun = stored is not None and stored.started_at is not None
        if stored is None or not is_begun or record.status == RunStatus.LOST:
            return False
        if stored.attempts == record.run.attempts:
            stored.task_id = storable(record.task_id)[:255] or stored.task_id
            if record.enqueued_at is not None and record.run.kind == RunKind.SCHEDULED:
                for row in self._rows_of(record.run.job_id):
                    note_last_run(row, record.enqueued_at)
        return True

    def longest_run(self, job_id: str) -> timedelta:
        """Return how long a run of this job counts as running; a day if the job is gone."""
        rows = self._rows_of(job_id)
        return timedelta(seconds=rows[0].job.max_run_seconds) if rows else timedelta(days=1)

    def _rows_of(self, job_id: str) -> list[StoredRow]:
        return [row for row in self.rows.values() if row.job.job_id == job_id]

    def run_of(self, run: Run, *statuses: str) -> StoredRun | None:
        """Return the row of ``run`` if it has one of ``statuses`` and nobody took it over since."""
        stored = self.runs.get(run.run_id)
        if stored is None or stored.status not in statuses or stored.attempts != run.attempts:
            return None
        return stored

    def note_error(self, job_id: str, error: str) -> None:
        for row in self._rows_of(job_id):
            row.last_error = error

    def mark(self, is_meant: Callable[[StoredRow], bool]) -> int:
        """Mark active jobs that were planned, and that are meant, to be planned anew."""
        marked = [
            row
            for row in self.rows.values()
            if row.job.is_active and row.planned is not None and is_meant(row)
        ]
        for row in marked:
            row.planned = None
        return len(marked)

    def verdict(self, stored: StoredRun, order: SweepOrder) -> Record | None:
        run = replace(stored.run, attempts=stored.attempts, replica=stored.replica)
        jobs = [row.job for row in self.rows.values() if row.job.job_id == run.job_id]
        has_newer = any(
            other.run.job_id == run.job_id
            and other.status != RunStatus.SKIPPED
            and run.scheduled_for is not None
            and other.run.scheduled_for is not None
            and other.run.scheduled_for > run.scheduled_for
            for other in self.runs.values()
        )
        return close_expired(
            run,
            stored.status,
            order.at,
            job_exists=bool(jobs),
            is_superseded=has_newer and jobs[0].misfire_policy == MisfirePolicy.FIRE_ONCE,
            starts_once=run.enqueuer in order.starting_once,
        )


def move(row: StoredRow, plan: JobPlan) -> None:
    """Move the cursor of ``row`` to where ``plan`` wants it."""
    was_broken = row.is_settled and not row.planned_in_zone
    row.next_run_at, row.is_settled = plan.next_run_at, plan.is_settled
    row.plan_from, row.planned, row.planned_in_zone = None, row.job, plan.time_zone
    row.last_error = plan.error or ("" if was_broken else row.last_error)


def _note(row: StoredRow, record: Record) -> None:
    if record.enqueued_at is not None or record.error:
        row.last_error = storable(record.error)
    if record.enqueued_at is not None and record.run.kind == RunKind.SCHEDULED:
        note_last_run(row, record.enqueued_at)


def note_last_run(row: StoredRow, moment: datetime) -> None:
    """Note the last run, never backwards."""
    if row.job.last_run_at is None or row.job.last_run_at < moment:
        row.job = replace(row.job, last_run_at=moment)


def _run_of(job: CronJobDefinition, planned: PlannedRun, order: ClaimOrder) -> Run:
    return Run.of(
        job,
        planned.scheduled_for,
        prefix=order.key_prefix,
        at=order.at,
        lease=order.lease,
        deliver_at=planned.deliver_at,
    )
