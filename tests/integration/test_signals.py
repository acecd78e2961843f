"""Ways to stop a replica, and what becomes of the work it has in hand."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import connections

from django_dyncron import DynamicScheduler
from django_dyncron.core.definitions import Run
from django_dyncron.repositories.orm import DjangoCronJobRepository
from tests.integration.cluster import FILE_ENQUEUER, Cluster, stopwatch
from tests.integration.enqueuers import FileEnqueuer
from tests.integration.work import Worker

FAST = ("--tick-interval", "0.1")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_ends_an_idle_replica_with_0(
    sqlite_cluster: Cluster, number: signal.Signals
) -> None:
    replica = sqlite_cluster.start_one()
    with stopwatch() as seconds:
        replica.send(number)
        assert replica.exit_code(5) == 0
        assert seconds() < 5
    assert "Traceback" not in replica.output


def test_a_task_that_ends_within_the_grace_is_waited_for(sqlite_cluster: Cluster) -> None:
    worker = Worker(sqlite_cluster)
    worker.replica.send(signal.SIGTERM)
    assert worker.replica.lives_on(0.5)
    worker.let_go()
    assert worker.replica.exit_code(5) == 0
    assert (worker.lines(), worker.status()) == (["begun", "ended"], "succeeded")


def test_a_task_that_outlasts_the_grace_is_lost(sqlite_cluster: Cluster) -> None:
    worker = Worker(sqlite_cluster, SHUTDOWN_GRACE_SECONDS=1)
    with stopwatch() as seconds:
        worker.replica.send(signal.SIGTERM)
        assert worker.replica.exit_code(10) == 1
        assert 1 <= seconds() < 4
    assert (worker.lines(), worker.status()) == (["begun"], "lost")
    assert "1 runs were given up." in worker.replica.output
    assert sqlite_cluster.start_one("--once", ENQUEUER="local").exit_code() == 0
    assert (worker.lines(), worker.status()) == (["begun"], "lost")


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_the_second_signal_ends_it_at_once_with_1(
    sqlite_cluster: Cluster, second: signal.Signals
) -> None:
    worker = Worker(sqlite_cluster)
    worker.replica.send(signal.SIGTERM)
    assert worker.replica.lives_on(0.3)
    with stopwatch() as seconds:
        worker.replica.send(second)
        assert worker.replica.exit_code(5) == 1
        assert seconds() < 1
    assert worker.lines() == ["begun"]


def test_a_batch_in_hand_is_finished_and_recorded(sqlite_cluster: Cluster) -> None:
    options = {"path": str(sqlite_cluster.file), "seconds": 0.1}
    replica = sqlite_cluster.start_one(
        *FAST, ENQUEUER={"BACKEND": FILE_ENQUEUER, "OPTIONS": options}
    )
    due = sqlite_cluster.add_missed(["a", "b"], 5)
    sqlite_cluster.wait_for_enqueued(1)
    assert replica.stop() == 0
    assert sorted(sqlite_cluster.enqueued()) == sorted(due)
    assert sqlite_cluster.runs.filter(status="enqueued").count() == 10


# --- by cancellation ------------------------------------------------------------------------------


class SlowEnqueuer(FileEnqueuer):
    """Takes half a second for each run, and tells when the first one came."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), seconds=0.5)
        self.began = asyncio.Event()

    async def enqueue_run(self, run: Run) -> str:
        self.began.set()
        return await super().enqueue_run(run)


def test_a_cancelled_start_finishes_the_batch_in_hand(sqlite_cluster: Cluster) -> None:
    due = sqlite_cluster.add_missed(["a", "b"], 1)

    async def main() -> None:
        async with ThreadSensitiveContext():
            repository = DjangoCronJobRepository(sqlite_cluster.alias)
            enqueuer = SlowEnqueuer(sqlite_cluster.file)
            scheduler = DynamicScheduler(repository, enqueuer, tick_interval_seconds=0.1)
            running = asyncio.create_task(scheduler.start())
            await enqueuer.began.wait()
            running.cancel()
            await asyncio.sleep(0.1)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await sync_to_async(connections.close_all)()

    asyncio.run(main())
    assert sorted(sqlite_cluster.enqueued()) == sorted(due)
    assert set(sqlite_cluster.runs.values_list("status", flat=True)) == {"enqueued"}
    assert sqlite_cluster.jobs.filter(last_run_at__isnull=False).count() == 2


# --- in real time ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_grace_longer_than_a_lease_keeps_the_lease(sqlite_cluster: Cluster) -> None:
    worker = Worker(sqlite_cluster, SHUTDOWN_GRACE_SECONDS=120)
    other = sqlite_cluster.start_one(*FAST, ENQUEUER="local")
    worker.replica.send(signal.SIGTERM)
    assert worker.replica.lives_on(75)
    assert worker.status() == "running"
    worker.let_go()
    assert worker.replica.exit_code() == 0
    assert other.stop() == 0
    assert (worker.lines(), worker.status()) == (["begun", "ended"], "succeeded")
