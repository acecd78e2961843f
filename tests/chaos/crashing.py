"""Parts for real processes that die by themselves, now and then, at a labelled step."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any

from django.db import connections

from django_dyncron import ILockProvider, ITaskEnqueuer
from django_dyncron.core.definitions import Run
from django_dyncron.core.runs import Attempt
from tests.integration.enqueuers import FileEnqueuer
from tests.integration.lines import append_line

EXIT_CODE = 81
QUEUE_TABLE = "chaos_queue"


class Fate:
    """Ends the process at once with ``probability``, and notes where in the file ``log``."""

    def __init__(self, probability: float, log: str) -> None:
        self._probability = probability
        self._log = log

    def strike(self, label: str) -> None:
        if random.random() < self._probability:
            append_line(self._log, label)
            os._exit(EXIT_CODE)


class CrashingLocks(ILockProvider):
    """Grants everything; dies inside the claim's transaction, where it is asked, or after it."""

    def __init__(self, crash: float, log: str) -> None:
        self._fate = Fate(crash, log)

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        raise AssertionError("locks are asked for in batches")

    async def release_lock(self, lock_key: str) -> None:
        raise AssertionError("locks are given back in batches")

    async def acquire_locks(self, lock_keys: Sequence[str], ttl_seconds: int) -> set[str]:
        self._fate.strike("in the claim")
        return set(lock_keys)

    async def release_locks(self, lock_keys: Sequence[str]) -> None:
        self._fate.strike("before the record")


class CrashingFileEnqueuer(FileEnqueuer):
    """A queue without memory; dies before, amid and after a batch."""

    def __init__(self, path: str, crash: float, log: str) -> None:
        super().__init__(path)
        self._fate = Fate(crash, log)

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        self._fate.strike("claimed")
        half = len(runs) // 2
        attempts = await super().enqueue_runs(runs[:half], may_send)
        self._fate.strike("half sent")
        attempts += await super().enqueue_runs(runs[half:], may_send)
        self._fate.strike("sent")
        return attempts


class CrashingTableEnqueuer(ITaskEnqueuer):
    """A queue in the database of the cron jobs: what it takes is committed with the claim."""

    def __init__(self, crash: float, log: str) -> None:
        self._fate = Fate(crash, log)

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        raise AssertionError("runs are enqueued inside the claim")

    def transaction_alias(self) -> str:
        return "default"

    def enqueue_runs_now(self, runs: Sequence[Run]) -> list[str]:
        with connections["default"].cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {QUEUE_TABLE} (job_id, slot) VALUES (%s, %s)",
                [(run.job_id, _slot(run)) for run in runs],
            )
        self._fate.strike("enqueued inside, not committed")
        return [str(run.run_id) for run in runs]


def _slot(run: Run) -> str:
    assert run.scheduled_for is not None
    return f"{run.scheduled_for.astimezone(UTC):%Y-%m-%dT%H:%MZ}"
