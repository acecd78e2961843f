"""Claiming a batch: read under row locks, plan, ask the gate, swap cursors, add run rows.

All of it is one transaction in one thread. A slot is won by moving the job's cursor off it and
adding its run row; the swap compares everything the plan was made from, the row is unique.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from asgiref.sync import async_to_sync
from django.db import connections, transaction

from ..core.claims import ClaimedBatch, ClaimOrder, StoredJob, SweepOrder
from ..core.definitions import Run, Slot, range_id
from ..core.planning import JobPlan
from ..core.policies import RunStatus
from ..core.runs import Record
from ..models import NEEDS_PLANNING
from . import records
from .dialects import BatchRow, Dialect, Row, dialect_of
from .notes import JobNotes
from .overlap import without_overlaps

Planned = tuple[StoredJob, JobPlan]


def claim_due(using: str, notes: JobNotes, order: ClaimOrder) -> ClaimedBatch:
    """Claim one batch; see the port for what it promises."""
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin(writes_at_once=bool(order.records))
        records.write(dialect, notes, order.records)
        rows = {row.key: row for row in dialect.read(order)}
        read = _plan_all(rows.values(), order)
        planned = without_overlaps(using, read, order.at)
        refused = _refused(order, planned)
        planned = [pair for pair in planned if pair[0].key not in refused]
        runs = _runs(order, planned)
        jobs, added = dialect.claim(
            [(rows[stored.key], plan) for stored, plan in planned],
            [*(_run_row(key, run) for key, run in runs), *_skip_rows(order, planned)],
            order,
        )
        won = [run for _, run in runs if run.run_id in added]
        waiting = [run for run in won if not run.attempts]
        inside = deliver_and_record(dialect, notes, order, [run for run in won if run.attempts])
    done = {record.run.run_id for record in inside}
    return ClaimedBatch(
        runs=[run for run in won if run.attempts and run.run_id not in done],
        claimed=len(won),
        records=inside,
        next_delivery_at=min((run.lease_until for run in waiting if run.lease_until), default=None),
        plans=[pair for pair in planned if pair[0].key in jobs],
        refused=sorted(refused),
        is_full=len(rows) >= order.limit or len(read) < len(rows),
    )


def deliver_and_record(
    dialect: Dialect, notes: JobNotes, order: ClaimOrder | SweepOrder, runs: Sequence[Run]
) -> Sequence[Record]:
    """Hand ``runs`` to the queues that live in this database, and record it, before the commit."""
    if order.deliver_inside is None or not runs:
        return ()
    using = dialect.connection.alias
    savepoint = partial(transaction.atomic, using=using)
    delivered = order.deliver_inside(runs, using, savepoint, order.at)
    records.write(dialect, notes, delivered)
    return delivered


def _plan_all(rows: Iterable[BatchRow], order: ClaimOrder) -> list[Planned]:
    """Plan ``rows`` until there are runs enough for one batch."""
    planned: list[Planned] = []
    count = 0
    for row in rows:
        planned.append(_plan(row, order))
        count += len(planned[-1][1].runs)
        if count >= order.max_runs:
            break
    return planned


def _plan(row: BatchRow, order: ClaimOrder) -> Planned:
    cursor = row.due_at if row.due_at > NEEDS_PLANNING else None
    stored = StoredJob(row.key, row.definition, cursor, row.plan_from)
    if row.unreadable:
        return stored, JobPlan(is_settled=True, error=row.unreadable)
    return stored, order.plan(stored)


def _refused(order: ClaimOrder, planned: Iterable[Planned]) -> Collection[int]:
    """Return the keys of the jobs that the gate keeps out of this batch."""
    if order.gate is None:
        return ()
    wanted = [
        (stored.key, Slot(stored.definition.job_id, run.scheduled_for))
        for stored, plan in planned
        for run in plan.runs
    ]
    if not wanted:
        return ()
    admitted = set(async_to_sync(order.gate)([slot for _, slot in wanted]))
    return {key for key, slot in wanted if slot not in admitted}


def _runs(order: ClaimOrder, planned: Iterable[Planned]) -> list[tuple[int, Run]]:
    return [
        (
            stored.key,
            Run.of(
                stored.definition,
                run.scheduled_for,
                prefix=order.key_prefix,
                at=order.at,
                lease=order.lease,
                deliver_at=run.deliver_at,
            ),
        )
        for stored, plan in planned
        for run in plan.runs
    ]


def _run_row(key: int, run: Run) -> Row:
    row = {"job": key, "id": run.run_id, "scheduled_for": run.scheduled_for}
    if not run.attempts:
        row |= {"attempts": 0, "lease_until": run.lease_until}
    return row


def _skip_rows(order: ClaimOrder, planned: Iterable[Planned]) -> Iterator[Row]:
    for stored, plan in planned:
        for skip in plan.skips:
            job_id, prefix = stored.definition.job_id, order.key_prefix
            slot = Slot(job_id, skip.first)
            is_range = skip.count > 1
            yield {
                "job": stored.key,
                "id": range_id(prefix, job_id, skip.first, skip.last)
                if is_range
                else slot.run_id(prefix),
                "scheduled_for": slot.scheduled_for,
                "status": RunStatus.SKIPPED,
                "reason": skip.reason,
                "attempts": 0,
                "lease_until": None,
                "skipped_until": skip.last if is_range else None,
                "slot_count": skip.count,
            }
