"""A durable repository in memory: what the database ones promise, where everything can be seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ..core.definitions import CronJobDefinition, Run, Slot
from ..core.leases import close_expired
from ..core.planning import JobPlan
from ..core.policies import UNFINISHED, MisfirePolicy, RunKind, RunStatus
from ..core.ports import (
    ClaimedBatch,
    ClaimOrder,
    Heartbeat,
    Horizon,
    IDurableCronJobRepository,
    StoredJob,
    Sweep,
)
from ..core.runs import Record
from .rows import StoredRow, StoredRun, inputs

Checkpoint = Callable[[str], Awaitable[None]]


async def _pass(label: str) -> None:
    """Stand in for a checkpoint where nobody looks."""


@dataclass
class InMemoryRepository(IDurableCronJobRepository):
    """Keeps jobs and runs in dictionaries, with row locks and transactions like a database.

    ``clock`` gives the store's time. ``checkpoint`` is awaited, with a label, wherever a database
    would let others in; what it raises ends the transaction as a crash would.
    """

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    checkpoint: Checkpoint = _pass
    rows: dict[int, StoredRow] = field(default_factory=dict)
    runs: dict[UUID, StoredRun] = field(default_factory=dict)
    replicas: dict[str, Heartbeat] = field(default_factory=dict)
    _locked: set[int] = field(default_factory=set)

    # --- what a user does -----------------------------------------------------------------------

    def add(self, *jobs: CronJobDefinition, created_at: datetime | None = None) -> None:
        """Insert jobs; they count from ``created_at`` (default: now)."""
        for job in jobs:
            key = len(self.rows) + 1
            row = StoredRow(key, job, plan_from=created_at or self.clock())
            row.next_run_at = job.next_run_at
            self.rows[key] = row

    def edit(self, job_id: str, *, is_noted: bool = True, **changes: object) -> None:
        """Change a job: as ``save()`` does, or with ``is_noted=False`` as plain SQL would."""
        row = self.row(job_id)
        before = row.job
        row.job = replace(row.job, **changes)  # type: ignore[arg-type]
        if is_noted and inputs(before) != inputs(row.job):
            row.plan_from = self.clock() if row.job.is_active else None

    def row(self, job_id: str) -> StoredRow:
        return next(row for row in self.rows.values() if row.job.job_id == job_id)

    # --- the port -------------------------------------------------------------------------------

    async def get_active_jobs(self) -> list[CronJobDefinition]:
        return [row.job for row in self.rows.values() if row.job.is_active]

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        for row in self.rows.values():
            if row.job.job_id == job_id:
                _note_last_run(row, run_time)

    async def look_ahead(self, at: datetime | None) -> Horizon:
        await self.checkpoint("look")
        cursors = [
            row.next_run_at
            for row in self.rows.values()
            if not row.needs_planning and row.job.is_active and row.next_run_at is not None
        ]
        now = at or self.clock()
        if any(row.needs_planning for row in self.rows.values()):
            return Horizon(now, min([now, *cursors]), needs_planning=True)
        return Horizon(now, min(cursors, default=None))

    async def claim_due(self, order: ClaimOrder) -> ClaimedBatch:
        rows = self._lock_batch(order)
        try:
            await self.checkpoint("select")
            seen = {row.key: (inputs(row.job), row.next_run_at, row.plan_from) for row in rows}
            planned = [(_stored(row), row) for row in rows]
            plans = [(stored, order.plan(stored), row) for stored, row in planned]
            refused = await self._refused(order, plans)
            await self.checkpoint("lock")
            moves = [
                (stored, plan, row)
                for stored, plan, row in plans
                if row.key not in refused
                and seen[row.key] == (inputs(row.job), row.next_run_at, row.plan_from)
            ]
            added = [stored_run for move in moves for stored_run in self._new_runs(order, *move)]
            await self.checkpoint("commit")
            self._write(order.records)
            for _, plan, row in moves:
                _move(row, plan)
            self.runs |= {stored.run.run_id: stored for stored in added}
        finally:
            self._locked -= {row.key for row in rows}
        await self.checkpoint("claimed")
        return ClaimedBatch(
            runs=[stored.run for stored in added if stored.status == RunStatus.CLAIMED],
            plans=[(stored, plan) for stored, plan, _ in moves],
            refused=sorted(refused),
            is_full=len(rows) >= order.limit,
        )

    async def record(self, runs: Sequence[Record]) -> None:
        await self.checkpoint("record")
        self._write(runs)
        await self.checkpoint("recorded")

    async def sweep(self, at: datetime, replica_id: str, lease: timedelta, limit: int) -> Sweep:
        await self.checkpoint("sweep")
        leased = sorted(
            (stored for stored in self.runs.values() if stored.lease_until is not None),
            key=lambda stored: stored.lease_until or at,
        )
        taken: list[Run] = []
        closed: list[Record] = []
        for stored in leased[:limit]:
            if stored.lease_until is None or stored.lease_until > at:
                return Sweep(taken, closed, next_at=stored.lease_until)
            record = self._verdict(stored, at)
            if record is not None:
                self._write([record])
                closed.append(record)
                continue
            stored.replica, stored.lease_until = replica_id, at + lease
            stored.attempts += 1
            stored.run = replace(stored.run, attempts=stored.attempts, lease_until=at + lease)
            taken.append(stored.run)
        return Sweep(taken, closed)

    async def start_run(self, run: Run, replica_id: str, at: datetime, lease: timedelta) -> bool:
        await self.checkpoint("start")
        stored = self.runs[run.run_id]
        if stored.status != RunStatus.CLAIMED or stored.replica != replica_id:
            return False
        stored.status, stored.enqueued_at, stored.lease_until = RunStatus.RUNNING, at, at + lease
        if run.kind == RunKind.SCHEDULED:
            await self.update_last_run(run.job_id, at)
        return True

    async def finish_run(self, run: Run, status: str, at: datetime, error: str = "") -> None:
        await self.checkpoint("finish")
        stored = self.runs[run.run_id]
        if stored.status in (RunStatus.RUNNING, RunStatus.LOST):
            stored.status, stored.finished_at, stored.lease_until = status, at, None
            stored.error = error

    async def beat(self, heartbeat: Heartbeat) -> None:
        await self.checkpoint("beat")
        self.replicas[heartbeat.replica_id] = heartbeat
        for run_id in heartbeat.keep:
            stored = self.runs.get(run_id)
            if stored is not None and stored.replica == heartbeat.replica_id and stored.lease_until:
                stored.lease_until = heartbeat.at + heartbeat.lease

    async def review(self, time_zone: str) -> int:
        changed = [
            row
            for row in self.rows.values()
            if row.job.is_active
            and row.planned is not None
            and (
                (row.is_settled and not row.planned_in_zone)
                or (not row.job.time_zone and row.planned_in_zone not in ("", time_zone))
            )
        ]
        for row in changed:
            row.planned = None
        return len(changed)

    # --- inside a transaction -------------------------------------------------------------------

    def _lock_batch(self, order: ClaimOrder) -> list[StoredRow]:
        free = [
            row
            for row in self.rows.values()
            if row.key not in self._locked and row.key not in order.excluded
        ]
        due = [row for row in free if (moment := row.due_at) is not None and moment <= order.at]
        rows = sorted(due, key=lambda row: row.due_at or order.at)[: order.limit]
        if order.plans_new:
            rows += [row for row in free if row.needs_planning][: order.limit - len(rows)]
        self._locked |= {row.key for row in rows}
        return rows

    async def _refused(
        self, order: ClaimOrder, plans: Iterable[tuple[StoredJob, JobPlan, StoredRow]]
    ) -> set[int]:
        if order.gate is None:
            return set()
        slots = {
            stored.key: {Slot(stored.definition.job_id, moment) for moment in plan.runs}
            for stored, plan, _ in plans
        }
        wanted = [slot for of_job in slots.values() for slot in of_job]
        admitted = set(await order.gate(wanted)) if wanted else set()
        return {key for key, of_job in slots.items() if not of_job <= admitted}

    def _new_runs(
        self, order: ClaimOrder, stored: StoredJob, plan: JobPlan, row: StoredRow
    ) -> Iterable[StoredRun]:
        for moment in plan.runs:
            run = _run_of(row.job, moment, order)
            if run.run_id not in self.runs:
                yield StoredRun(
                    run, RunStatus.CLAIMED, replica=order.replica_id, lease_until=run.lease_until
                )
        for skip in plan.skips:
            run = _run_of(row.job, skip.first, order)
            if run.run_id not in self.runs:
                yield StoredRun(
                    run, RunStatus.SKIPPED, skip.reason, count=skip.count, until=skip.last
                )

    def _write(self, records: Sequence[Record]) -> None:
        for record in records:
            stored = self.runs[record.run.run_id]
            if stored.status not in UNFINISHED:
                continue
            stored.status, stored.reason = record.status, record.reason
            stored.error, stored.task_id = record.error, record.task_id
            stored.enqueued_at, stored.finished_at = record.enqueued_at, record.finished_at
            stored.lease_until = record.lease_until
            for row in self.rows.values():
                if row.job.job_id == record.run.job_id:
                    _note(row, record)

    def _verdict(self, stored: StoredRun, at: datetime) -> Record | None:
        run = replace(stored.run, attempts=stored.attempts)
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
            at,
            job_exists=bool(jobs),
            is_superseded=has_newer and jobs[0].misfire_policy == MisfirePolicy.FIRE_ONCE,
        )


def _stored(row: StoredRow) -> StoredJob:
    return StoredJob(row.key, row.job, row.due_at, row.plan_from)


def _move(row: StoredRow, plan: JobPlan) -> None:
    was_broken = row.is_settled and not row.planned_in_zone
    row.next_run_at, row.is_settled = plan.next_run_at, plan.is_settled
    row.plan_from, row.planned, row.planned_in_zone = None, row.job, plan.time_zone
    row.last_error = plan.error or ("" if was_broken else row.last_error)


def _note(row: StoredRow, record: Record) -> None:
    if record.enqueued_at is not None or record.error:
        row.last_error = record.error
    if record.enqueued_at is not None and record.run.kind == RunKind.SCHEDULED:
        _note_last_run(row, record.enqueued_at)


def _note_last_run(row: StoredRow, moment: datetime) -> None:
    if row.job.last_run_at is None or row.job.last_run_at < moment:
        row.job = replace(row.job, last_run_at=moment)


def _run_of(job: CronJobDefinition, moment: datetime, order: ClaimOrder) -> Run:
    return Run.of(job, moment, prefix=order.key_prefix, at=order.at, lease=order.lease)
