"""A repository of your own: cron jobs in a file that anything may edit."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from django_dyncron import CronJobDefinition, ICronJobRepository


class JsonFileRepository(ICronJobRepository):
    """Reads jobs from a list of objects in JSON; notes when they last ran in a file beside it."""

    def __init__(self, path: str) -> None:
        self._jobs = Path(path)
        self._last_runs = Path(f"{path}.last-runs")

    async def get_active_jobs(self) -> list[CronJobDefinition]:
        last_runs = self._read_last_runs()
        jobs = json.loads(self._jobs.read_text())
        return [CronJobDefinition(**job, last_run_at=last_runs.get(job["job_id"])) for job in jobs]

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        last_runs = self._read_last_runs()
        last_runs[job_id] = max(run_time, last_runs.get(job_id, run_time))
        new = self._last_runs.with_suffix(".new")
        new.write_text(json.dumps(last_runs, default=datetime.isoformat))
        new.replace(self._last_runs)

    def _read_last_runs(self) -> dict[str, datetime]:
        if not self._last_runs.exists():
            return {}
        texts = json.loads(self._last_runs.read_text())
        return {job_id: datetime.fromisoformat(text) for job_id, text in texts.items()}
