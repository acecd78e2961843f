"""A store of two methods and a queue that listens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ..core.definitions import CronJobDefinition, Run
from ..core.ports import ICronJobRepository, ITaskEnqueuer

_NO_RUN = UUID(int=0)


class ListRepository(ICronJobRepository):
    """A repository of the two methods that are required, over a list."""

    def __init__(self, jobs: Iterable[CronJobDefinition] = ()) -> None:
        self.jobs = {job.job_id: job for job in jobs}

    async def get_active_jobs(self) -> list[CronJobDefinition]:
        return [job for job in self.jobs.values() if job.is_active]

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        job = self.jobs.get(job_id)
        if job is not None and (job.last_run_at is None or job.last_run_at < run_time):
            self.jobs[job_id] = replace(job, last_run_at=run_time)


class RecordingEnqueuer(ITaskEnqueuer):
    """A queue that notes what it is given.

    ``errors`` maps a task name to the errors to raise for it, one each time, before it works.
    """

    def __init__(self, errors: dict[str, Sequence[Exception]] | None = None) -> None:
        self.runs: list[Run] = []
        self._errors = {name: list(of_task) for name, of_task in (errors or {}).items()}

    @property
    def slots(self) -> list[tuple[str, str]]:
        """Return the job id and slot of each run, the slot as ``2026-11-01T05:30Z``."""
        return [
            (run.job_id, f"{run.scheduled_for.astimezone(UTC):%Y-%m-%dT%H:%MZ}")
            for run in self.runs
            if run.scheduled_for is not None
        ]

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> Any:
        return await self.enqueue_run(
            Run(
                run_id=_NO_RUN,
                job_id="",
                task_name=task_name,
                payload=payload,
                queue=queue,
                scheduled_for=None,
            )
        )

    async def enqueue_run(self, run: Run) -> str:
        if pending := self._errors.get(run.task_name):
            raise pending.pop(0)
        self.runs.append(run)
        return str(run.run_id)
