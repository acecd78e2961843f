"""Task queues for the processes of the tests: a file, and the ways in which a queue fails."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from django_dyncron import EnqueueError, ITaskEnqueuer
from django_dyncron.core.definitions import Run
from tests.integration.lines import append_line, read_lines


class FileEnqueuer(ITaskEnqueuer):
    """A queue that is a file: one line a run, with job, slot, run id and the time in seconds.

    Each takes ``seconds`` before it is written, as a queue across a network would.
    """

    def __init__(self, path: str, seconds: float = 0.0) -> None:
        self._path = path
        self._seconds = seconds

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        append_line(self._path, task_name, "", "", time.time())

    async def enqueue_run(self, run: Run) -> str:
        await asyncio.sleep(self._seconds)
        slot = "" if run.scheduled_for is None else f"{run.scheduled_for:%Y-%m-%dT%H:%MZ}"
        append_line(self._path, run.job_id, slot, run.run_id, time.time())
        return str(run.run_id)


class FlakyEnqueuer(FileEnqueuer):
    """Fails its first ``failures`` times, counted in a file beside ``path``, then works."""

    def __init__(self, path: str, failures: int) -> None:
        super().__init__(path)
        self._failures = failures
        self._attempts = f"{path}.attempts"

    async def enqueue_run(self, run: Run) -> str:
        append_line(self._attempts, run.job_id, time.time())
        if len(read_lines(Path(self._attempts))) <= self._failures:
            raise EnqueueError("the queue is full")
        return await super().enqueue_run(run)


class RaisingEnqueuer(ITaskEnqueuer):
    """Raises what no enqueuer should."""

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        raise ZeroDivisionError("the queue divided by zero")
