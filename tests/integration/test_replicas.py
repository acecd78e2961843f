"""Several replicas, one database: every slot is enqueued, and none twice."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from django_dyncron.models import CronJob
from tests.integration.cluster import Cluster, Slots, wait_until
from tests.servers import ValkeyServer

FAST = ("--tick-interval", "0.1")
# Locks are not asked for slots older than this, and here all of them are to be fought for.
LONG_LOCKS = {"LOCK_TTL_SECONDS": 3600}


def _assert_once_each(cluster: Cluster, expected: Slots) -> None:
    tally = Counter(cluster.enqueued())
    assert [slot for slot, times in tally.items() if times > 1] == []
    assert set(tally) == expected
    assert cluster.runs.filter(status="enqueued").count() == len(expected)
    assert cluster.runs.count() == len(expected)


def _race(cluster: Cluster, half_way: Callable[[], None] = lambda: None) -> None:
    """Let four replicas fight for 100 jobs with 5 missed slots each, then stop them.

    The jobs come in waves, since a batch goes to one replica whole: 20 batches are 20 races.
    """
    expected: Slots = set()
    for wave in range(20):
        if wave == 10:
            half_way()
        expected |= cluster.add_missed([f"job-{wave}-{number}" for number in range(5)], slots=5)
        time.sleep(0.05)
    cluster.wait_for_enqueued(500)
    assert cluster.stop() == [0, 0, 0, 0]
    assert len(expected) == 500
    _assert_once_each(cluster, expected)
    assert cluster.runs.values("replica").distinct().count() > 1, "one replica did it all"


@pytest.mark.parametrize("lock_provider", ["redis", "postgres", "none"])
def test_a_backlog_on_postgresql(
    postgres_cluster: Cluster, redis_url: str, lock_provider: str
) -> None:
    provider = redis_url if lock_provider == "redis" else lock_provider
    postgres_cluster.start(4, *FAST, LOCK_PROVIDER=provider, **LONG_LOCKS)
    _race(postgres_cluster)
    assert "lock provider:" not in postgres_cluster.output


def test_a_backlog_while_redis_is_killed(
    postgres_cluster: Cluster, disposable_valkey: ValkeyServer
) -> None:
    postgres_cluster.start(4, *FAST, LOCK_PROVIDER=disposable_valkey.url, **LONG_LOCKS)
    _race(postgres_cluster, half_way=disposable_valkey.kill)
    assert "lock provider: LockError" in postgres_cluster.output


def test_a_backlog_on_one_sqlite_file(sqlite_cluster: Cluster) -> None:
    sqlite_cluster.start(4, *FAST, LOCK_PROVIDER=None)
    _race(sqlite_cluster)
    assert "locked" not in sqlite_cluster.output


@pytest.mark.parametrize("database", ["postgres_cluster", "sqlite_cluster"])
def test_cursors_and_run_rows_cover_for_each_other(
    request: pytest.FixtureRequest, database: str
) -> None:
    """Neither cursors moved back nor pruned runs make a slot run again."""
    cluster: Cluster = request.getfixturevalue(database)
    replica, _ = cluster.start(2, *FAST)
    due = cluster.add_missed([f"job-{number}" for number in range(10)], slots=5)
    cluster.wait_for_enqueued(50)
    wait_until(lambda: cluster.runs.filter(status="enqueued").count() == 50, seconds=5)
    cluster.jobs.update(next_run_at=cluster.runs.earliest("scheduled_for").scheduled_for)
    cluster.jobs.update(is_settled=False)
    wait_until(lambda: cluster.jobs.filter(is_settled=True).count() == 10, seconds=5)
    cluster.runs.all().delete()
    replica.wait_for_tick()
    replica.wait_for_tick()
    assert cluster.stop() == [0, 0]
    assert sorted(cluster.enqueued()) == sorted(due)
    assert cluster.runs.count() == 0


# --- in real time ---------------------------------------------------------------------------------


def _three_minutes(cluster: Cluster, half_way: Callable[[], None] = lambda: None) -> None:
    """Let four replicas run 100 minutely jobs for the next three minutes, then stop them."""
    first = (datetime.now(UTC) + timedelta(seconds=63)).replace(second=0, microsecond=0)
    minutes = [first + timedelta(minutes=number) for number in range(3)]
    job_ids = [f"job-{number}" for number in range(100)]
    cluster.jobs.bulk_create(
        CronJob(
            job_id=job_id,
            task_name="anything",
            cron_expression="* * * * *",
            plan_from=first - timedelta(minutes=1),
            ends_at=minutes[-1],
        )
        for job_id in job_ids
    )
    cluster.wait_for_enqueued(101, seconds=130)
    half_way()
    cluster.wait_for_enqueued(300, seconds=80)
    time.sleep(2)
    assert cluster.stop() == [0, 0, 0, 0]
    _assert_once_each(
        cluster,
        {(job_id, f"{minute:%Y-%m-%dT%H:%MZ}") for job_id in job_ids for minute in minutes},
    )


@pytest.mark.slow
@pytest.mark.parametrize("lock_provider", ["redis", "postgres", "none"])
def test_three_minutes_on_postgresql(
    postgres_cluster: Cluster, redis_url: str, lock_provider: str
) -> None:
    provider = redis_url if lock_provider == "redis" else lock_provider
    postgres_cluster.start(4, LOCK_PROVIDER=provider)
    _three_minutes(postgres_cluster)


@pytest.mark.slow
def test_three_minutes_while_redis_is_killed(
    postgres_cluster: Cluster, disposable_valkey: ValkeyServer
) -> None:
    postgres_cluster.start(4, LOCK_PROVIDER=disposable_valkey.url)
    _three_minutes(postgres_cluster, half_way=disposable_valkey.kill)
    assert "lock provider: LockError" in postgres_cluster.output


@pytest.mark.slow
def test_three_minutes_on_one_sqlite_file(sqlite_cluster: Cluster) -> None:
    sqlite_cluster.start(4, LOCK_PROVIDER=None)
    _three_minutes(sqlite_cluster)
    assert "locked" not in sqlite_cluster.output
