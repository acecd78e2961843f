"""Replicas that die or stall: no slot is lost, and no local task is started twice."""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest

from django_dyncron.models import CronRun
from tests.integration.cluster import FILE_ENQUEUER, Cluster, Slots, wait_until
from tests.integration.lines import read_lines
from tests.integration.work import Work, Worker

FAST = ("--tick-interval", "0.1")
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def _expire_leases_of_the_dead(cluster: Cluster) -> None:
    """Let the minute pass that a run belongs to a replica that no longer answers."""
    dead = [replica.name for replica in cluster.replicas if not replica.is_alive]
    held = cluster.runs.filter(replica__in=dead, status__in=["claimed", "running"])
    held.update(lease_until=LONG_AGO)


def test_a_local_run_that_was_executing_is_lost_and_not_started_again(
    sqlite_cluster: Cluster,
) -> None:
    worker = Worker(sqlite_cluster)
    worker.replica.kill()
    assert worker.status() == "running"
    _expire_leases_of_the_dead(sqlite_cluster)
    worker.let_go()
    replica = sqlite_cluster.start_one(*FAST, ENQUEUER="local")
    wait_until(lambda: worker.status() == "lost", seconds=5)
    replica.wait_for_tick()
    assert replica.stop() == 0
    assert worker.lines() == ["begun"]
    assert "died or stalled" in sqlite_cluster.jobs.get().last_error


def test_a_replica_that_was_suspended_takes_nothing_back(postgres_cluster: Cluster) -> None:
    """What it held meanwhile belongs to others, whatever it has to say about it when it wakes."""
    cluster = postgres_cluster
    one_at_a_time: dict[str, Any] = {
        "ENQUEUER": {"BACKEND": "local", "OPTIONS": {"max_workers": 1}},
        "SHUTDOWN_GRACE_SECONDS": 0.5,
    }
    suspended = cluster.start_one(*FAST, **one_at_a_time)
    executing = Work(cluster, "executing")
    executing.wait_until_begun()
    in_line = Work(cluster, "in_line")
    wait_until(lambda: cluster.runs.count() == 2, seconds=5)
    suspended.send(signal.SIGSTOP)
    cluster.runs.update(lease_until=LONG_AGO)
    other = cluster.start_one(*FAST, **one_at_a_time)
    in_line.wait_until_begun()
    assert executing.status() == "lost"
    suspended.send(signal.SIGCONT)
    suspended.send(signal.SIGTERM)
    assert suspended.exit_code() == 1
    third = cluster.start_one(*FAST, **one_at_a_time)
    third.wait_for_tick()
    assert (in_line.lines(), in_line.status()) == (["begun"], "running")
    in_line.let_go()
    assert [other.stop(), third.stop()] == [0, 0]
    assert (in_line.lines(), in_line.status()) == (["begun", "ended"], "succeeded")
    assert (executing.lines(), executing.status()) == (["begun"], "lost")


@pytest.mark.parametrize("database", ["sqlite_cluster", "postgres_cluster"])
def test_killed_replicas_lose_no_slot_and_start_none_twice(
    request: pytest.FixtureRequest, database: str
) -> None:
    cluster: Cluster = request.getfixturevalue(database)
    due: Slots = set()
    note = {"task_name": "tests.integration.tasks.note", "payload": {"path": str(cluster.file)}}
    for round_ in range(2):
        cluster.start(2, *FAST, ENQUEUER="local")
        due |= cluster.add_missed([f"job-{round_}-{number}" for number in range(10)], 3, **note)
        cluster.wait_for_enqueued(len(due) - 25)
        for replica in cluster.replicas:
            replica.kill()
        _expire_leases_of_the_dead(cluster)
    last = cluster.start_one(*FAST, ENQUEUER="local")
    finished = cluster.runs.filter(status__in=["succeeded", "lost"])
    wait_until(lambda: finished.count() == len(due) == 60, seconds=20)
    assert last.stop() == 0
    started = Counter(cluster.enqueued())
    assert [slot for slot, times in started.items() if times > 1] == []
    assert {_slot(run) for run in finished.filter(status="succeeded")} <= set(started) <= due
    assert {_slot(run) for run in finished} == due


@pytest.mark.parametrize(
    "delivery, verdict", [("at_least_once", "enqueued"), ("at_most_once", "unknown")]
)
def test_killed_while_enqueuing(sqlite_cluster: Cluster, delivery: str, verdict: str) -> None:
    """Nobody can know what a queue without memory was told last: the job says what is worse."""
    options = {"path": str(sqlite_cluster.file), "seconds": 0.05}
    replica = sqlite_cluster.start_one(
        *FAST, ENQUEUER={"BACKEND": FILE_ENQUEUER, "OPTIONS": options}
    )
    due = sqlite_cluster.add_missed(["a", "b"], 10, delivery=delivery)
    sqlite_cluster.wait_for_enqueued(5)
    replica.kill()
    told = sqlite_cluster.enqueued()
    _expire_leases_of_the_dead(sqlite_cluster)
    replica = sqlite_cluster.start_one(*FAST)
    wait_until(lambda: sqlite_cluster.runs.filter(status=verdict).count() == 20, seconds=5)
    assert replica.stop() == 0
    if delivery == "at_most_once":
        assert sqlite_cluster.enqueued() == told
        return
    assert set(sqlite_cluster.enqueued()) == due
    run_ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    for job_id, slot, run_id, _ in read_lines(sqlite_cluster.file):
        run_ids[job_id, slot].add(run_id)
    assert {len(ids) for ids in run_ids.values()} == {1}


def test_slots_missed_while_nobody_lived_are_made_up_once(sqlite_cluster: Cluster) -> None:
    due = sqlite_cluster.add_missed(["before"], 3)
    for replica in sqlite_cluster.start(2, *FAST):
        sqlite_cluster.wait_for_enqueued(3)
        wait_until(lambda: sqlite_cluster.runs.filter(status="enqueued").count() == 3, seconds=5)
        replica.kill()
    due |= sqlite_cluster.add_missed(["meanwhile"], 3)
    sqlite_cluster.start(2, *FAST)
    sqlite_cluster.wait_for_enqueued(6)
    assert sqlite_cluster.stop() == [0, 0]
    assert sorted(sqlite_cluster.enqueued()) == sorted(due)


def _slot(run: CronRun) -> tuple[str, str]:
    return run.job_id, f"{run.scheduled_for:%Y-%m-%dT%H:%MZ}"
