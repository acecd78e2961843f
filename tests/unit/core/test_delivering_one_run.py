"""A scheduler that delivers one run by hand and is no replica."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from django_dyncron.core.definitions import Run
from django_dyncron.core.ports import IRunJournal
from django_dyncron.core.runs import Attempt, Outcome
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import ListRepository, RecordingEnqueuer
from django_dyncron.testing.rows import StoredRun
from tests.unit.core.test_durable_tick import World, job


def a_run_kept_for(world: World, replica: str) -> Run:
    now = world.clock.now()
    run = Run(
        uuid4(),
        "report",
        "shop.tasks.report",
        {},
        "default",
        None,
        kind="manual",
        attempts=0,
        created_at=now,
        lease_until=now + timedelta(seconds=60),
    )
    stored = StoredRun(run, "claimed", replica=replica, attempts=0)
    stored.lease_until = run.lease_until
    world.repository.runs[run.run_id] = stored
    return run


async def test_the_run_is_delivered_and_a_due_job_is_not() -> None:
    world = World("2026-11-30T12:00:30Z", job(), job("other"))
    await world.scheduler.tick()
    world.clock.advance(60)
    seen = dict(world.repository.replicas)
    helper = world.replica(replica_id="helper")
    run = a_run_kept_for(world, "helper")
    await helper.deliver(run.run_id)
    assert [sent.run_id for sent in world.queue.runs] == [run.run_id]
    assert world.repository.runs[run.run_id].status == "enqueued"
    assert world.repository.replicas == seen
    assert helper.unfinished_runs == 0


async def test_a_run_of_somebody_else_is_not_delivered() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    run = a_run_kept_for(world, "somebody")
    await world.replica(replica_id="helper").deliver(run.run_id)
    assert world.queue.runs == []
    assert world.repository.runs[run.run_id].attempts == 0


class Pool(RecordingEnqueuer):
    """A pool in this process, whose task ends when ``is_done`` is set."""

    reports_ends = True
    is_done = False

    def bind(self, journal: IRunJournal) -> None:
        self._journal = journal

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        for run in runs:
            assert await self._journal.start(run)
        self.runs += runs
        return [Attempt(run, Outcome.STARTED_HERE) for run in runs]

    def in_hand(self) -> Collection[Run]:
        return [] if self.is_done else self.runs


async def test_while_a_task_runs_here_its_lease_is_kept_and_no_sign_of_life_given() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    world.queue = pool = Pool()
    helper = world.replica(replica_id="helper")
    run = a_run_kept_for(world, "helper")
    delivering = asyncio.ensure_future(helper.deliver(run.run_id))
    await world.clock.run_for(90)
    stored = world.repository.runs[run.run_id]
    assert stored.status == "running"
    assert stored.lease_until is not None
    assert stored.lease_until >= datetime(2026, 11, 30, 12, 2, 45, tzinfo=UTC)
    assert not delivering.done()
    pool.is_done = True
    await world.clock.run_for(1)
    await delivering
    assert world.repository.replicas == {}


async def test_told_to_stop_it_waits_for_no_task() -> None:
    world = World("2026-11-30T12:00:30Z", job())
    world.queue = Pool()
    helper = world.replica(replica_id="helper")
    run = a_run_kept_for(world, "helper")
    delivering = asyncio.ensure_future(helper.deliver(run.run_id))
    await world.clock.run_for(1)
    helper.stop()
    await delivering


async def test_a_repository_of_two_methods_keeps_no_runs() -> None:
    scheduler = DynamicScheduler(ListRepository(), RecordingEnqueuer())
    with pytest.raises(TypeError, match=r"^The repository keeps no runs\.$"):
        await scheduler.deliver(uuid4())
