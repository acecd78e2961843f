"""Deploys that sync at the same time, and runs by hand beside schedulers: real processes."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connections, transaction

from django_dyncron.models import CronJob
from tests.integration.cluster import FILE_ENQUEUER, Cluster, Process, wait_until
from tests.integration.lines import read_lines

BOTH = pytest.mark.parametrize("database", ["postgres_cluster", "sqlite_cluster"])
FAST = ("--tick-interval", "0.1")


@pytest.fixture
def cluster(request: pytest.FixtureRequest, database: str) -> Cluster:
    found: Cluster = request.getfixturevalue(database)
    return found


def _deploy(cluster: Cluster, name: str, release: int = 1, *options: str) -> Process:
    cluster.environment |= {
        "DJANGO_SETTINGS_MODULE": "tests.integration.releases.settings",
        "DYNCRON_TEST_RELEASE": str(release),
    }
    return cluster.start_other(name, "-m", "django", "dyncron_sync", *options)


@contextmanager
def _all_held_at_the_first_write(cluster: Cluster) -> Iterator[None]:
    """Let syncs read what is there, on PostgreSQL, but not write until the block is left."""
    connection = connections[cluster.alias]
    with transaction.atomic(using=cluster.alias):
        if connection.vendor == "postgresql":
            # Readers and row locks go through, writes wait.
            cluster.sql("LOCK TABLE django_dyncron_cronjob IN SHARE MODE")
        else:
            cluster.sql("UPDATE django_dyncron_cronrun SET id = id WHERE false")
        yield


def _wait_for_waiting(cluster: Cluster, processes: list[Process]) -> None:
    """Wait until all of ``processes`` are held up by our lock; each is alive until then."""
    if connections[cluster.alias].vendor != "postgresql":
        time.sleep(2)
        assert all(process.is_alive for process in processes)
        return

    def waiting() -> int:
        with connections[cluster.alias].cursor() as cursor:
            # Who waits for a row waits for the transaction of another, which has no database.
            cursor.execute("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted")
            row = cursor.fetchone()
        assert row is not None
        return int(row[0])

    wait_until(lambda: waiting() >= len(processes), 30, lambda: f"{waiting()} are waiting")


@BOTH
def test_three_deploys_create_each_job_once(cluster: Cluster) -> None:
    with _all_held_at_the_first_write(cluster):
        deploys = [_deploy(cluster, f"deploy-{number}") for number in range(3)]
        _wait_for_waiting(cluster, deploys)
    assert [deploy.exit_code(60) for deploy in deploys] == [0, 0, 0]
    summaries = sorted(deploy.output.splitlines()[-1] for deploy in deploys)
    assert summaries == ["40 created, 0 unchanged.", "40 unchanged.", "40 unchanged."]
    assert cluster.jobs.count() == 40
    assert cluster.jobs.filter(origin="code", has_vanished=False).count() == 40


@BOTH
def test_two_deploys_of_a_change_update_once_and_keep_edits(cluster: Cluster) -> None:
    assert _deploy(cluster, "first").exit_code(60) == 0
    cluster.jobs.filter(job_id="job-03").update(cron_expression="0 9 * * *")
    with _all_held_at_the_first_write(cluster):
        deploys = [_deploy(cluster, f"deploy-{number}", 2, "--prune") for number in range(2)]
        _wait_for_waiting(cluster, deploys)
    assert [deploy.exit_code(60) for deploy in deploys] == [0, 0]
    summaries = sorted(deploy.output.splitlines()[-1] for deploy in deploys)
    assert summaries == [
        "1 in conflict, 39 unchanged.",
        "5 created, 19 updated, 1 in conflict, 5 pruned, 15 unchanged.",
    ]
    schedules = dict(cluster.jobs.values_list("job_id", "cron_expression"))
    assert schedules["job-03"] == "0 9 * * *"
    assert Counter(schedules.values()) == {"30 6 * * *": 19, "0 6 * * *": 25, "0 9 * * *": 1}
    vanished = cluster.jobs.filter(has_vanished=True, is_active=False)
    assert sorted(vanished.values_list("job_id", flat=True)) == [
        f"job-{number}" for number in range(35, 40)
    ]


@BOTH
def test_a_deploy_that_is_killed_has_done_nothing(cluster: Cluster) -> None:
    with _all_held_at_the_first_write(cluster):
        deploy = _deploy(cluster, "deploy")
        _wait_for_waiting(cluster, [deploy])
        deploy.kill()
    assert not cluster.jobs.exists()
    assert _deploy(cluster, "again").exit_code(60) == 0
    assert cluster.jobs.count() == 40


@BOTH
def test_what_does_not_change_is_not_locked(cluster: Cluster) -> None:
    """A slot that is due meanwhile is claimed on time: schedulers pass over locked rows."""
    assert _deploy(cluster, "first").exit_code(60) == 0
    with transaction.atomic(using=cluster.alias):
        cluster.jobs.update(pause_reason="")
        assert _deploy(cluster, "same").exit_code(60) == 0
    if connections[cluster.alias].vendor == "postgresql":
        with transaction.atomic(using=cluster.alias):
            cluster.jobs.filter(job_id="job-25").update(pause_reason="")
            assert _deploy(cluster, "second", 2).exit_code(60) == 0


@BOTH
def test_a_sync_beside_schedulers_at_work(cluster: Cluster) -> None:
    """Whatever is due is run once, and what did not change keeps its cursor."""
    replicas = cluster.start(2, *FAST)
    assert _deploy(cluster, "first").exit_code(60) == 0
    wait_until(lambda: not cluster.jobs.filter(plan_from__isnull=False).exists(), 20)
    due = cluster.add_missed([f"due-{number}" for number in range(50)], slots=2)
    cursors = dict(cluster.jobs.filter(origin="code").values_list("job_id", "next_run_at"))
    assert _deploy(cluster, "second", 2).exit_code(60) == 0
    cluster.wait_for_enqueued(100)
    wait_until(lambda: not cluster.jobs.filter(plan_from__isnull=False).exists(), 20)
    assert all(replica.is_alive for replica in replicas)
    assert Counter(cluster.enqueued()) == Counter(due)
    moved = {
        job_id
        for job_id, cursor in cluster.jobs.filter(origin="code").values_list(
            "job_id", "next_run_at"
        )
        if cursors.get(job_id) != cursor
    }
    changed = {f"job-{number:02}" for number in (*range(20), *range(40, 45))}
    assert moved == changed


# --- runs by hand ---------------------------------------------------------------------------------


def _add(cluster: Cluster, **values: object) -> CronJob:
    return cluster.jobs.create(
        **{"job_id": "report", "task_name": "anything", "cron_expression": "0 6 1 1 *", **values}
    )


@BOTH
def test_runs_by_hand_are_delivered_once_beside_schedulers_that_sweep(cluster: Cluster) -> None:
    _add(cluster, is_active=False)
    # A queue that takes its time: long enough for every scheduler to look at what waits.
    slow = {"BACKEND": FILE_ENQUEUER, "OPTIONS": {"path": str(cluster.file), "seconds": 1.5}}
    cluster.start(2, *FAST)
    commands = [
        cluster.start_other(
            f"by-hand-{number}", "-m", "django", "dyncron_run", "report", ENQUEUER=slow
        )
        for number in range(3)
    ]
    # The schedulers sweep every ten seconds: this one does at once.
    wait_until(lambda: cluster.runs.count() == 3, 30)
    assert cluster.start_one("--once").exit_code() == 0
    assert [command.exit_code(60) for command in commands] == [0, 0, 0]
    lines = read_lines(cluster.file)
    assert len(lines) == 3
    assert {line[2] for line in lines} == {str(run.pk) for run in cluster.runs}
    assert set(cluster.runs.values_list("status", "attempts")) == {("enqueued", 1)}


@BOTH
@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
def test_a_run_whose_process_was_killed_is_taken_over_if_it_may_be(
    cluster: Cluster, delivery: str
) -> None:
    _add(cluster, is_active=False, delivery=delivery)
    hanging = {"BACKEND": FILE_ENQUEUER, "OPTIONS": {"path": "/dev/null", "seconds": 60}}
    command = cluster.start_other(
        "by-hand", "-m", "django", "dyncron_run", "report", ENQUEUER=hanging
    )
    wait_until(lambda: cluster.runs.filter(attempts=1).exists(), 30, lambda: command.output)
    command.kill()
    # A minute later, that is.
    cluster.runs.update(lease_until="2026-11-01T00:00Z")
    assert cluster.start_one("--once").exit_code() == 0
    if delivery == "at_most_once":
        assert (cluster.runs.get().status, read_lines(cluster.file)) == ("unknown", [])
        return
    ((job_id, _slot, run_id, _time),) = read_lines(cluster.file)
    run = cluster.runs.get()
    assert (job_id, run_id, run.status, run.attempts) == ("report", str(run.pk), "enqueued", 2)


def _a_long_task(cluster: Cluster, **dyncron: object) -> tuple[Process, Path]:
    """Have a task run by hand in a process of its own; return it when the task has begun."""
    let_go = cluster.directory / "let-go"
    payload = {"path": str(cluster.file), "until": str(let_go)}
    _add(cluster, task_name="tests.integration.tasks.work", payload=payload)
    command = cluster.start_other(
        "by-hand", "-m", "django", "dyncron_run", "report", ENQUEUER="local", **dyncron
    )
    wait_until(lambda: read_lines(cluster.file) == [["begun"]], 30, lambda: command.output)
    return command, let_go


def test_a_local_task_that_was_killed_is_lost_and_not_started_again(
    sqlite_cluster: Cluster,
) -> None:
    command, let_go = _a_long_task(sqlite_cluster)
    command.kill()
    let_go.touch()
    # A minute later, that is.
    sqlite_cluster.runs.update(lease_until="2026-11-01T00:00Z")
    sqlite_cluster.jobs.update(is_active=False)
    assert sqlite_cluster.start_one("--once").exit_code() == 0
    assert sqlite_cluster.runs.get().status == "lost"
    assert read_lines(sqlite_cluster.file) == [["begun"]]


def test_a_signal_lets_the_task_end_within_the_grace(sqlite_cluster: Cluster) -> None:
    command, let_go = _a_long_task(sqlite_cluster)
    command.send(signal.SIGTERM)
    assert command.lives_on(0.3)
    let_go.touch()
    assert command.exit_code() == 0
    assert "report: succeeded in" in command.output
    assert read_lines(sqlite_cluster.file) == [["begun"], ["ended"]]


def test_a_task_that_outlasts_the_grace_is_lost_and_exits_with_1(sqlite_cluster: Cluster) -> None:
    command, _ = _a_long_task(sqlite_cluster, SHUTDOWN_GRACE_SECONDS=0.5)
    command.send(signal.SIGINT)
    assert command.exit_code() == 1
    words = "report: lost: The scheduler stopped while the task was still running"
    assert words in command.output
    assert sqlite_cluster.runs.get().status == "lost"


def test_a_second_signal_ends_the_waiting(sqlite_cluster: Cluster) -> None:
    command, _ = _a_long_task(sqlite_cluster, SHUTDOWN_GRACE_SECONDS=600)
    command.send(signal.SIGINT)
    assert command.lives_on(0.3)
    command.send(signal.SIGINT)
    assert command.exit_code() == 1


def test_a_check_in_a_pipeline_exits_with_1_until_it_is_synced(sqlite_cluster: Cluster) -> None:
    assert _deploy(sqlite_cluster, "before", 1, "--check").exit_code(60) == 1
    assert _deploy(sqlite_cluster, "sync", 1, "--json").exit_code(60) == 0
    log = (sqlite_cluster.directory / "sync.log").read_text()
    assert json.loads(log)["counts"]["created"] == 40
    assert json.loads(log)["source"] == "tests"
    assert _deploy(sqlite_cluster, "after", 1, "--check").exit_code(60) == 0
