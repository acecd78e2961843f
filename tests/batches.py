"""A queue for tests that takes whole batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django_dyncron.core.definitions import Run
from django_dyncron.core.ports import ITaskEnqueuer
from django_dyncron.core.runs import Attempt, Outcome


class BatchEnqueuer(ITaskEnqueuer):
    """Takes whole batches, unless it ``is_away``, and notes how large they were."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.is_away = False

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        raise AssertionError("a batch was asked for")

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        self.batches.append(len(runs))
        outcome = Outcome.NOT_SENT if self.is_away else Outcome.ENQUEUED
        return [Attempt(run, outcome, error="away" * self.is_away) for run in runs]
