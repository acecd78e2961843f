"""Repositories under test, each with a way to put rows into it and to look at them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.db import connections
from django.db.models import QuerySet

from django_dyncron.core.claims import ClaimedBatch, ClaimOrder, SweepOrder
from django_dyncron.core.definitions import CronJobDefinition, Run
from django_dyncron.core.pauses import PausedSpan
from django_dyncron.core.planning import PlanningRules, plan_job
from django_dyncron.core.ports import IDurableCronJobRepository
from django_dyncron.models import CronJob, CronRun, Pause
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import InMemoryRepository
from django_dyncron.testing.rows import StoredRun

LEASE = timedelta(seconds=60)


def at(text: str) -> datetime:
    """Return ``12:00:30`` of the first day of 2030, or any moment in full."""
    return datetime.fromisoformat(f"2030-01-01T{text}Z" if len(text) < 9 else text)


class RunRow(Protocol):
    """What both kinds of run rows have."""

    status: str
    reason: str
    replica: str
    attempts: int
    error: str
    task_id: str
    lease_until: datetime | None
    enqueued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None


class JobRow(Protocol):
    """What both kinds of job rows have."""

    next_run_at: datetime | None
    last_error: str
    is_settled: bool


@dataclass
class Site(ABC):
    """A repository with nothing in it. ``rules`` are those its claims plan by."""

    repository: IDurableCronJobRepository
    rules: PlanningRules = field(default_factory=PlanningRules)

    @abstractmethod
    async def add(
        self, job_id: str = "report", expression: str = "* * * * *", **values: Any
    ) -> None:
        """Insert a job that counts from 12:00."""

    @abstractmethod
    def edit_here(self, job_id: str = "report", **values: Any) -> None:
        """Change a job as plain SQL would, on this thread's connection."""

    async def edit(self, job_id: str = "report", **values: Any) -> None:
        await sync_to_async(self.edit_here)(job_id, **values)

    @abstractmethod
    async def job(self, job_id: str = "report") -> JobRow: ...

    @abstractmethod
    async def last_run_at(self, job_id: str = "report") -> datetime | None: ...

    @abstractmethod
    async def rows(self) -> dict[tuple[str, str], RunRow]:
        """Return run rows by job id and slot, the slot as ``12:01``."""

    @abstractmethod
    async def pause(self, since: str, until: str | None = None) -> None:
        """Insert a pause of everything."""

    @abstractmethod
    async def put_run(self, run: Run, status: str, replica: str = "gone") -> None:
        """Insert a run row; what is not said is taken from ``run``."""

    async def row(self, slot: str = "12:01", job_id: str = "report") -> RunRow:
        return (await self.rows())[job_id, slot]

    async def outcomes(self) -> dict[tuple[str, str], str]:
        """Return status and reason of each run row."""
        rows = await self.rows()
        return {key: f"{row.status} {row.reason}".strip() for key, row in sorted(rows.items())}

    def order(self, moment: str, pauses: Sequence[PausedSpan] = (), **values: Any) -> ClaimOrder:
        now = at(moment)
        defaults: dict[str, Any] = {
            "limit": 100,
            "replica_id": "a",
            "key_prefix": "test",
            "lease": LEASE,
            "plan": lambda stored: plan_job(
                stored.definition, stored.cursor, now, self.rules, stored.plan_from, pauses
            ),
        }
        return ClaimOrder(at=now, **{**defaults, **values})

    async def claim(self, moment: str, **values: Any) -> ClaimedBatch:
        return await self.repository.claim_due(self.order(moment, **values))

    async def claim_around_pauses(self, moment: str) -> ClaimedBatch:
        return await self.claim(moment, pauses=await self.repository.pauses(at(moment)))

    async def planned(self, moment: str = "12:00:30") -> ClaimedBatch:
        """Have all new jobs planned."""
        return await self.claim(moment)

    async def claimed(self, moment: str = "12:01:00", **values: Any) -> Run:
        """Plan the one job there is, then claim its one slot."""
        await self.planned()
        (run,) = (await self.claim(moment, **values)).runs
        return run

    def sweeping(self, moment: str, **values: Any) -> SweepOrder:
        return SweepOrder(
            **{"at": at(moment), "limit": 100, "replica_id": "b", "lease": LEASE, **values}
        )


def slots_of(batch: ClaimedBatch) -> list[tuple[str, str]]:
    return [(run.job_id, f"{run.scheduled_for:%H:%M}") for run in batch.runs]


def left_run(slot: str, job_id: str = "report", **values: Any) -> Run:
    """Return a run of ``slot`` that a replica left behind; its lease ended at 12:00."""
    defaults: dict[str, Any] = {
        "scheduled_for": at(slot),
        "attempts": 1,
        "created_at": at("11:59:00"),
        "lease_until": at("12:00:00"),
    }
    return Run(uuid4(), job_id, "shop.report", {}, "default", **{**defaults, **values})


def run_by_hand(job_id: str = "report", **values: Any) -> Run:
    """Return a run that somebody asked for at 11:59, and that waits for a sweep since 12:00."""
    return left_run(
        "11:59:00", job_id, **{"scheduled_for": None, "kind": "manual", "attempts": 0, **values}
    )


class MemorySite(Site):
    @property
    def store(self) -> InMemoryRepository:
        assert isinstance(self.repository, InMemoryRepository)
        return self.repository

    async def add(
        self, job_id: str = "report", expression: str = "* * * * *", **values: Any
    ) -> None:
        plan_from = values.pop("plan_from", at("12:00:00"))
        job = CronJobDefinition(job_id, "shop.report", expression, **values)
        self.store.add(job, created_at=plan_from)

    def edit_here(self, job_id: str = "report", **values: Any) -> None:
        cursor = values.pop("next_run_at", None)
        if cursor is not None:
            self.store.row(job_id).next_run_at = cursor
        self.store.edit(job_id, is_noted=False, **values)

    async def job(self, job_id: str = "report") -> JobRow:
        return self.store.row(job_id)

    async def last_run_at(self, job_id: str = "report") -> datetime | None:
        return self.store.row(job_id).job.last_run_at

    async def rows(self) -> dict[tuple[str, str], RunRow]:
        return {
            (row.run.job_id, _minute(row.run.scheduled_for)): row
            for row in self.store.runs.values()
        }

    async def pause(self, since: str, until: str | None = None) -> None:
        self.store.paused.append(PausedSpan(at(since), until and at(until)))

    async def put_run(self, run: Run, status: str, replica: str = "gone") -> None:
        row = StoredRun(run, status, replica=replica, attempts=run.attempts)
        row.lease_until = run.lease_until
        self.store.runs[run.run_id] = row


@dataclass
class DatabaseSite(Site):
    alias: str = "default"

    @property
    def _jobs(self) -> QuerySet[CronJob]:
        # Not the manager's: its update() counts from the moment of the edit.
        return QuerySet(CronJob, using=self.alias)

    @property
    def _runs(self) -> QuerySet[CronRun]:
        return CronRun.objects.using(self.alias)

    async def add(
        self, job_id: str = "report", expression: str = "* * * * *", **values: Any
    ) -> None:
        values = {"plan_from": at("12:00:00"), "task_name": "shop.report", **values}
        await self._jobs.acreate(job_id=job_id, cron_expression=expression, **values)

    def edit_here(self, job_id: str = "report", **values: Any) -> None:
        self._jobs.filter(job_id=job_id).update(**values)

    async def job(self, job_id: str = "report") -> JobRow:
        return await self._jobs.aget(job_id=job_id)

    async def last_run_at(self, job_id: str = "report") -> datetime | None:
        return (await self._jobs.aget(job_id=job_id)).last_run_at

    async def rows(self) -> dict[tuple[str, str], RunRow]:
        return {(row.job_id, _minute(row.scheduled_for)): row async for row in self._runs}

    async def pause(self, since: str, until: str | None = None) -> None:
        pauses = Pause.objects.using(self.alias)
        await pauses.acreate(since=at(since), until=until and at(until))

    async def put_run(self, run: Run, status: str, replica: str = "gone") -> None:
        names = ("job_id", "task_name", "payload", "queue", "scheduled_for", "kind", "enqueuer")
        more = ("delivery", "attempts", "created_at", "lease_until")
        values = {name: getattr(run, name) for name in (*names, *more)}
        await self._runs.acreate(id=run.run_id, status=status, replica=replica, **values)

    async def last_error(self, job_id: str = "report") -> str:
        # Of rows that cannot be read as a whole.
        return await self._jobs.values_list("last_error", flat=True).aget(job_id=job_id)

    async def execute(self, statement: str, *parameters: object) -> None:
        def run() -> None:
            with connections[self.alias].cursor() as cursor:
                cursor.execute(statement, parameters)

        await sync_to_async(run)()

    async def aclose(self) -> None:
        # In the database thread: this one's connection is another.
        def close() -> None:
            connections[self.alias].close()

        await sync_to_async(close)()


def memory_site() -> MemorySite:
    return MemorySite(InMemoryRepository())


def database_site(alias: str = "default") -> DatabaseSite:
    return DatabaseSite(DjangoCronJobRepository(alias), alias=alias)


def _minute(moment: datetime | None) -> str:
    return "by hand" if moment is None else f"{moment.astimezone(UTC):%H:%M}"
