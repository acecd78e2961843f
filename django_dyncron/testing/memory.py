"""A durable repository in memory: what the database ones promise, where everything can be seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ..core.claims import ClaimedBatch, ClaimOrder, Heartbeat, Horizon, Sweep, SweepOrder
from ..core.definitions import CronJobDefinition, Run
from ..core.pauses import PausedSpan
from ..core.policies import RunKind, RunStatus
from ..core.ports import IDurableCronJobRepository
from ..core.runs import Record
from ..core.text import storable
from .rows import StoredRow, StoredRun, inputs, seen
from .tables import IN_HAND, Tables, move, note_last_run

Checkpoint = Callable[[str], Awaitable[None]]

_FARTHEST = timedelta(days=366)


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
    _tables: Tables = field(default_factory=Tables)
    replicas: dict[str, Heartbeat] = field(default_factory=dict)
    paused: list[PausedSpan] = field(default_factory=list)

    @property
    def rows(self) -> dict[int, StoredRow]:
        return self._tables.rows

    @property
    def runs(self) -> dict[UUID, StoredRun]:
        return self._tables.runs

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

    def pause_all(self) -> None:
        """Pause everything from now on, unless it is."""
        if not any(pause.until is None for pause in self.paused):
            self.paused.append(PausedSpan(self.clock()))

    def resume_all(self) -> None:
        """End the pause that lasts, if one does."""
        self.paused = [replace(pause, until=pause.until or self.clock()) for pause in self.paused]

    def row(self, job_id: str) -> StoredRow:
        return next(row for row in self.rows.values() if row.job.job_id == job_id)

    # --- the port -------------------------------------------------------------------------------

    async def get_active_jobs(self) -> list[CronJobDefinition]:
        return [row.job for row in self.rows.values() if row.job.is_active]

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        for row in self.rows.values():
            if row.job.job_id == job_id:
                note_last_run(row, run_time)

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

    async def pauses(self, at: datetime) -> Sequence[PausedSpan]:
        await self.checkpoint("pauses")
        cursors = [row.due_at or row.plan_from for row in self.rows.values()]
        earliest = min([at, *(cursor for cursor in cursors if cursor is not None)])
        return sorted(
            (
                pause
                for pause in self.paused
                if pause.since <= at and (pause.until is None or pause.until > earliest)
            ),
            key=lambda pause: pause.since,
        )

    async def claim_due(self, order: ClaimOrder) -> ClaimedBatch:
        # Copies: what was read stays as it was read, where nothing keeps others from the rows.
        rows = [replace(row) for row in self._tables.lock_batch(order)]
        try:
            await self.checkpoint("select")
            plans = self._tables.plan(order, rows)
            refused = await self._tables.refused(order, plans)
            await self.checkpoint("lock")
            moves = [
                (stored, plan, self.rows[row.key])
                for stored, plan, row in plans
                if row.key not in refused and seen(self.rows[row.key]) == seen(row)
            ]
            added = [
                stored_run for move in moves for stored_run in self._tables.new_runs(order, *move)
            ]
            await self.checkpoint("commit")
            self._tables.write(order.records)
            for _, plan, row in moves:
                move(row, plan)
            self.runs.update({stored.run.run_id: stored for stored in added})
            won = [stored.run for stored in added if stored.status == RunStatus.CLAIMED]
            records = self._tables.deliver_inside(order, [run for run in won if run.attempts])
        finally:
            self._tables.locked -= {row.key for row in rows}
        await self.checkpoint("claimed")
        done = {record.run.run_id for record in records}
        waiting = [run.lease_until for run in won if not run.attempts and run.lease_until]
        return ClaimedBatch(
            runs=[run for run in won if run.attempts and run.run_id not in done],
            claimed=len(won),
            records=records,
            next_delivery_at=min(waiting, default=None),
            plans=[(stored, plan) for stored, plan, _ in moves],
            refused=sorted(refused),
            is_full=len(rows) >= order.limit or len(plans) < len(rows),
        )

    async def record(self, runs: Sequence[Record]) -> None:
        await self.checkpoint("record")
        self._tables.write(runs)
        await self.checkpoint("recorded")

    async def sweep(self, order: SweepOrder) -> Sweep:
        await self.checkpoint("sweep")
        at, lease_until = order.at, order.at + order.lease
        leased = sorted(
            (stored.lease_until, number, stored)
            for number, stored in enumerate(self.runs.values())
            if stored.lease_until is not None and order.only in (None, stored.run.run_id)
        )
        expired = [
            stored
            for until, _, stored in leased
            if (until <= at if order.only is None else stored.replica == order.replica_id)
        ][: order.limit]
        later = [until for until, *_ in leased if until > at]
        taken: list[Run] = []
        closed: list[Record] = []
        for stored in expired:
            record = self._tables.verdict(stored, order)
            if record is not None:
                self._tables.write([record])
                closed.append(record)
                continue
            owner, stored.replica = stored.replica, order.replica_id
            stored.attempts, stored.lease_until = stored.attempts + 1, lease_until
            stored.run = replace(
                stored.run, attempts=stored.attempts, lease_until=lease_until, replica=owner
            )
            taken.append(stored.run)
            later.append(lease_until)
        records = self._tables.deliver_inside(order, taken)
        done = {record.run.run_id for record in records}
        return Sweep(
            runs=[run for run in taken if run.run_id not in done],
            records=[*closed, *records],
            next_at=at if len(expired) == order.limit else min(later, default=None),
        )

    async def start_run(self, run: Run, replica_id: str, at: datetime, lease: timedelta) -> bool:
        await self.checkpoint("start")
        stored = self._tables.run_of(run, RunStatus.CLAIMED)
        if stored is None or stored.replica != replica_id:
            return False
        stored.status, stored.enqueued_at, stored.lease_until = RunStatus.RUNNING, at, at + lease
        stored.started_at = at
        if run.kind == RunKind.SCHEDULED:
            await self.update_last_run(run.job_id, at)
        return True

    async def finish_run(self, run: Run, status: str, at: datetime, error: str = "") -> None:
        await self.checkpoint("finish")
        stored = self._tables.run_of(run, RunStatus.RUNNING, RunStatus.LOST)
        if stored is not None:
            stored.status, stored.finished_at, stored.lease_until = status, at, None
            stored.error = storable(error)
            self._tables.note_error(run.job_id, stored.error)

    async def report_start(self, run_id: UUID, job_id: str, task_id: str = "") -> bool:
        await self.checkpoint("report start")
        stored, now = self.runs.get(run_id), self.clock()
        if stored is None or stored.started_at is not None:
            return False
        longest = self._tables.longest_run(job_id)
        stored.status, stored.started_at, stored.finished_at = RunStatus.RUNNING, now, None
        stored.enqueued_at, stored.lease_until = stored.enqueued_at or now, now + longest
        stored.error, stored.reason, stored.task_id = "", "", task_id or stored.task_id
        return True

    async def report_end(self, run_id: UUID, job_id: str, error: str = "") -> None:
        await self.checkpoint("report end")
        stored = self.runs.get(run_id)
        if stored is not None and stored.started_at is not None:
            stored.status = RunStatus.FAILED if error else RunStatus.SUCCEEDED
            stored.finished_at, stored.lease_until = self.clock(), None
            stored.error = storable(error)
            self._tables.note_error(job_id, stored.error)

    async def beat(self, heartbeat: Heartbeat) -> None:
        await self.checkpoint("beat")
        if heartbeat.is_well or heartbeat.is_last:
            self.replicas[heartbeat.replica_id] = heartbeat
        for run_id in heartbeat.keep:
            stored = self.runs.get(run_id)
            is_owned = stored is not None and stored.replica == heartbeat.replica_id
            if stored is not None and is_owned and stored.status in IN_HAND:
                until = heartbeat.at + heartbeat.lease
                stored.lease_until = max(stored.lease_until or until, until)

    async def review(self, time_zone: str, at: datetime) -> int:
        return self._tables.mark(
            lambda row: (
                (row.is_settled and not row.planned_in_zone)
                or (not row.job.time_zone and row.planned_in_zone not in ("", time_zone))
                or (row.next_run_at is not None and row.next_run_at > at + _FARTHEST)
            )
        )

    async def replan_after(self, at: datetime) -> int:
        return self._tables.mark(lambda row: row.next_run_at is not None and row.next_run_at > at)

    async def prune(self, before: datetime, limit: int) -> int:
        old = sorted(
            (stored.run.created_at, run_id)
            for run_id, stored in self.runs.items()
            if stored.status not in IN_HAND
            and stored.run.created_at is not None
            and stored.run.created_at < before
        )[:limit]
        for _, run_id in old:
            del self.runs[run_id]
        return len(old)
