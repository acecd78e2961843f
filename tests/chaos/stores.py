"""Variants of the store: without row locks, and broken on purpose, which tests must notice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django_dyncron.core.claims import ClaimedBatch, ClaimOrder, StoredJob
from django_dyncron.core.planning import JobPlan
from django_dyncron.core.runs import Record
from django_dyncron.testing.rows import StoredRow, StoredRun
from django_dyncron.testing.tables import Tables
from tests.chaos.faults import Incarnation, incarnation
from tests.chaos.simulator import SimulatedStore, Simulation


class UnlockedTables(Tables):
    """Tables of a database that has no row locks: the comparison and the unique row must do."""

    def lock_batch(self, order: ClaimOrder) -> list[StoredRow]:
        rows = super().lock_batch(order)
        self.locked.clear()
        return rows


class UnlockedStore(SimulatedStore):
    """Lets two replicas plan the same row; correct, for it compares and writes in one step."""

    tables_class: type[Tables] = UnlockedTables

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._tables = self.tables_class()
        self.checkpoint = self._checkpoint
        self._point = simulation.weather.point

    async def _checkpoint(self, label: str) -> None:
        # A row that was compared stays locked until the commit, so nobody gets in between.
        if label != "commit":
            await self._point(label)


# --- mutants --------------------------------------------------------------------------------------


class _ForgetfulTables(UnlockedTables):
    """Remembers who planned from which cursors, to make a later comparison with them hold."""

    def __init__(self) -> None:
        super().__init__()
        self.planned_from: dict[str, list[tuple[StoredRow, datetime | None, datetime | None]]] = {}

    async def refused(
        self, order: ClaimOrder, plans: Iterable[tuple[StoredJob, JobPlan, StoredRow]]
    ) -> set[int]:
        plans = list(plans)
        self.planned_from[incarnation.get().name] = [
            (self.rows[row.key], row.next_run_at, row.plan_from) for _, _, row in plans
        ]
        return await super().refused(order, plans)

    def restore(self, planner: Incarnation) -> None:
        for row, cursor, plan_from in self.planned_from.pop(planner.name):
            row.next_run_at, row.plan_from = cursor, plan_from


class StateOnlySwap(UnlockedStore):
    """Swaps the cursor of any row that is still active, whatever slot it has come to."""

    tables_class = _ForgetfulTables

    async def _checkpoint(self, label: str) -> None:
        await super()._checkpoint(label)
        if label == "lock":
            assert isinstance(self._tables, _ForgetfulTables)
            self._tables.restore(incarnation.get())


class _UpdatingTables(Tables):
    def new_runs(
        self, order: ClaimOrder, stored: StoredJob, plan: JobPlan, row: StoredRow
    ) -> list[StoredRun]:
        known, self.runs = self.runs, {}
        try:
            return list(super().new_runs(order, stored, plan, row))
        finally:
            self.runs = known


class UpdatedGuard(SimulatedStore):
    """Writes over the run row of a slot where it should be refused as a second one."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._tables = _UpdatingTables()


class ReleaseWithoutClaim(SimulatedStore):
    """Trusts the lock: neither cursor nor run row is written before the run is recorded."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._unwritten: dict[UUID, tuple[StoredRun, int, datetime | None]] = {}

    async def claim_due(self, order: ClaimOrder) -> ClaimedBatch:
        self._write_late(order.records)
        batch = await super().claim_due(order)
        keys = {stored.definition.job_id: stored for stored, _ in batch.plans}
        for run in batch.runs:
            stored = keys[run.job_id]
            row = self.rows[stored.key]
            late = (self.runs.pop(run.run_id), stored.key, row.next_run_at)
            self._unwritten.setdefault(run.run_id, late)
        for run in batch.runs:
            self.rows[keys[run.job_id].key].next_run_at = keys[run.job_id].cursor
        return batch

    async def record(self, runs: Sequence[Record]) -> None:
        self._write_late(runs)
        await super().record(runs)

    def _write_late(self, records: Sequence[Record]) -> None:
        for record in records:
            if record.run.run_id not in self.runs:
                stored, key, cursor = self._unwritten[record.run.run_id]
                self.runs[record.run.run_id] = stored
                self.rows[key].next_run_at = cursor
