"""What the courier makes of queues that are slow, silent, or out of their minds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from django_dyncron.core import courier as module
from django_dyncron.core.courier import Courier
from django_dyncron.core.definitions import Run
from django_dyncron.core.observers import Observers
from django_dyncron.core.ports import ITaskEnqueuer
from django_dyncron.core.runs import Attempt, Outcome
from django_dyncron.testing import FakeClock, RecordingEnqueuer

RUNS = [Run(UUID(int=number), "job", "task", {}, "default", None) for number in range(3)]


class Hanging(ITaskEnqueuer):
    """Asks for leave ``asks`` times, then hangs."""

    def __init__(self, asks: int) -> None:
        self.asks = asks

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        raise AssertionError("runs come together")

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        for _ in range(self.asks):
            may_send()
        await asyncio.Event().wait()
        return []


class Babbling(Hanging):
    async def enqueue_runs(self, runs: Sequence[Run], may_send: Callable[[], bool]) -> Any:
        return ["yes", "no"]


def courier_of(enqueuer: ITaskEnqueuer, **others: ITaskEnqueuer) -> tuple[Courier, FakeClock]:
    clock = FakeClock("2030-01-01T12:00:00Z")
    day = timedelta(days=1)
    enqueuers = {"default": enqueuer, **others}
    return Courier(enqueuers, catch_up_window=day, clock=clock, observers=Observers()), clock


async def outcomes(courier: Courier, claimed_at: float) -> list[Outcome]:
    async with asyncio.timeout(10):
        return [attempt.outcome for attempt in await courier.deliver(RUNS, claimed_at)]


async def test_runs_claimed_too_long_ago_are_not_even_tried() -> None:
    queue = RecordingEnqueuer()
    courier, clock = courier_of(queue)
    claimed_at = clock.monotonic()
    clock.advance(40)
    assert await outcomes(courier, claimed_at) == [Outcome.UNTRIED] * 3
    assert queue.runs == []


@pytest.mark.parametrize("asks, outcome", [(0, Outcome.UNTRIED), (1, Outcome.UNCERTAIN)])
async def test_a_queue_that_hangs_is_uncertain_only_if_it_may_have_sent(
    asks: int, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SENDING", timedelta(milliseconds=20))
    monkeypatch.setattr(module, "_LAST_WORDS", timedelta(milliseconds=10))
    courier, clock = courier_of(Hanging(asks))
    assert await outcomes(courier, clock.monotonic()) == [outcome] * 3


async def test_a_queue_that_answers_nonsense_spoils_no_other() -> None:
    queue = RecordingEnqueuer()
    courier, clock = courier_of(Babbling(0), other=queue)
    runs = [*RUNS, Run(UUID(int=9), "job", "task", {}, "default", None, enqueuer="other")]
    attempts = await courier.deliver(runs, clock.monotonic())
    assert [attempt.outcome for attempt in attempts] == (
        [Outcome.UNCERTAIN] * 3 + [Outcome.ENQUEUED]
    )
    assert "AttributeError" in attempts[0].error
