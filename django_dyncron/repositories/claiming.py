"""Claiming a batch: read under row locks, plan, ask the gate, swap cursors, add run rows.

All of it is one transaction in one thread. A slot is won by moving the job's cursor off it and
adding its run row; the swap compares everything the plan was made from, the row is unique.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.db import connections, transaction

from ..core.claims import ClaimedBatch, ClaimOrder, StoredJob, SweepOrder
from ..core.definitions import CronJobDefinition, Run, Slot
from ..core.planning import JobPlan
from ..core.policies import RunStatus
from ..core.runs import Record
from ..core.tzdata import tzdata_version
from ..models import DEFINITION_FIELDS, NEEDS_PLANNING
from . import records
from .dialects import Dialect, dialect_of
from .overlap import without_overlaps
from .reading import SEEN_FIELDS, read_batch

Planned = tuple[StoredJob, JobPlan]
Row = Mapping[str, Any]


def claim_due(using: str, order: ClaimOrder) -> ClaimedBatch:
    """Claim one batch; see the port for what it promises."""
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin()
        records.write(dialect, order.records)
        rows = {row["id"]: row for row in read_batch(using, order, dialect)}
        planned = without_overlaps(using, [_plan(row, order) for row in rows.values()], order.at)
        refused = _refused(order, planned)
        planned = [pair for pair in planned if pair[0].key not in refused]
        runs = _runs(order, planned)
        added = dialect.claim(
            [_cursor_row(rows[stored.key], plan) for stored, plan in planned],
            [*(_run_row(key, run, order) for key, run in runs), *_skip_rows(order, planned)],
        )
        won = [run for _, run in runs if run.run_id in added]
        waiting = [run for run in won if not run.attempts]
        inside = deliver_inside(dialect, order, [run for run in won if run.attempts])
    done = {record.run.run_id for record in inside}
    return ClaimedBatch(
        runs=[run for run in won if run.attempts and run.run_id not in done],
        claimed=len(won),
        records=inside,
        next_delivery_at=min((run.lease_until for run in waiting if run.lease_until), default=None),
        plans=planned,
        refused=sorted(refused),
        is_full=len(rows) >= order.limit,
    )


def deliver_inside(
    dialect: Dialect, order: ClaimOrder | SweepOrder, runs: Sequence[Run]
) -> Sequence[Record]:
    """Hand ``runs`` to the queues that live in this database, and record it, before the commit."""
    if order.deliver_inside is None or not runs:
        return ()
    using = dialect.connection.alias
    savepoint = partial(transaction.atomic, using=using)
    delivered = order.deliver_inside(runs, using, savepoint, order.at)
    records.write(dialect, delivered)
    return delivered


def _plan(row: Row, order: ClaimOrder) -> Planned:
    definition = CronJobDefinition(**{name: row[name] for name in DEFINITION_FIELDS})
    if "unreadable" in row:
        plan = JobPlan(is_settled=True, error=row["unreadable"])
        return StoredJob(row["id"], definition, None), plan
    cursor = row["due_at"] if row["due_at"] > NEEDS_PLANNING else None
    stored = StoredJob(row["id"], definition, cursor, row["plan_from"])
    return stored, order.plan(stored)


def _refused(order: ClaimOrder, planned: Iterable[Planned]) -> Collection[int]:
    """Return the keys of the jobs that the gate keeps out of this batch."""
    if order.gate is None:
        return ()
    slots = {
        stored.key: {Slot(stored.definition.job_id, run.scheduled_for) for run in plan.runs}
        for stored, plan in planned
    }
    wanted = [slot for of_job in slots.values() for slot in of_job]
    if not wanted:
        return ()
    admitted = set(async_to_sync(order.gate)(wanted))
    return {key for key, of_job in slots.items() if not of_job <= admitted}


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


def _cursor_row(row: Row, plan: JobPlan) -> Row:
    return {
        "id": row["id"],
        "next_run_at": plan.next_run_at,
        "is_settled": plan.is_settled,
        "planned_in_zone": plan.time_zone,
        "planned_with_tzdata": tzdata_version(),
        # PostgreSQL's text holds no NUL, and an error may quote anything.
        "error": plan.error.replace("\0", "\N{REPLACEMENT CHARACTER}"),
        **{f"seen_{name}": row[f"seen_{name}"] for name in SEEN_FIELDS},
    }


def _run_row(key: int, run: Run, order: ClaimOrder) -> Row:
    return {
        "job": key,
        "id": run.run_id,
        "scheduled_for": run.scheduled_for,
        "status": RunStatus.CLAIMED,
        "reason": "",
        "created_at": order.at,
        "replica": order.replica_id,
        "attempts": run.attempts,
        "lease_until": run.lease_until,
        "skipped_until": None,
        "slot_count": 1,
    }


def _skip_rows(order: ClaimOrder, planned: Iterable[Planned]) -> Iterator[Row]:
    for stored, plan in planned:
        for skip in plan.skips:
            slot = Slot(stored.definition.job_id, skip.first)
            yield {
                "job": stored.key,
                "id": slot.run_id(order.key_prefix),
                "scheduled_for": slot.scheduled_for,
                "status": RunStatus.SKIPPED,
                "reason": skip.reason,
                "created_at": order.at,
                "replica": order.replica_id,
                "attempts": 0,
                "lease_until": None,
                "skipped_until": skip.last if skip.count > 1 else None,
                "slot_count": skip.count,
            }
