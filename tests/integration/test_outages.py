"""PostgreSQL goes away while replicas run: they come back by themselves, and no slot is lost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest
from django.core.management import call_command

from tests.integration.cluster import Cluster, Slots, stopwatch, wait_until
from tests.servers import PostgresServer

FAST = ("--tick-interval", "0.1")


def _add_waves(cluster: Cluster, name: str, count: int) -> Slots:
    due: Slots = set()
    for wave in range(count):
        due |= cluster.add_missed([f"{name}-{wave}-{number}" for number in range(5)], slots=2)
        time.sleep(0.05)
    return due


def _assert_all_once(cluster: Cluster, due: Slots) -> None:
    cluster.wait_for_enqueued(len(due))
    # The last records may still be on their way.
    wait_until(lambda: cluster.runs.filter(status="enqueued").count() == len(due), seconds=15)
    assert cluster.stop() == [0, 0]
    tally = Counter(cluster.enqueued())
    assert [slot for slot, times in tally.items() if times > 1] == []
    assert set(tally) == due
    assert cluster.runs.count() == len(due)


def test_connections_are_cut(
    postgres_cluster: Cluster, postgres_server: PostgresServer, postgres_database_url: str
) -> None:
    cluster = postgres_cluster
    cluster.start(2, *FAST)
    due: Slots = set()
    for round_ in range(5):
        due |= _add_waves(cluster, f"round-{round_}", count=3)
        cluster.disconnect()
        assert postgres_server.terminate_backends(postgres_database_url.rpartition("/")[2]) > 0
        cluster.wait_for_enqueued(len(due))
    _assert_all_once(cluster, due)
    assert len(due) == 5 * 3 * 5 * 2


def test_the_server_is_restarted_and_then_away_for_some_seconds(
    disposable_postgres: PostgresServer, cluster_on: Callable[[str], Cluster]
) -> None:
    cluster = cluster_on(disposable_postgres.create_database("outages"))
    call_command("migrate", database=cluster.alias, verbosity=0)
    replicas = cluster.start(2, *FAST, LOCK_PROVIDER="postgres")
    due = _add_waves(cluster, "before", count=10)
    cluster.disconnect()
    disposable_postgres.restart()
    due |= _add_waves(cluster, "between", count=10)
    due |= cluster.add_missed([f"last-{number}" for number in range(20)], slots=5)
    cluster.disconnect()
    disposable_postgres.shut_down()
    time.sleep(3)
    assert [replica.is_alive for replica in replicas] == [True, True]
    disposable_postgres.restart()
    due |= _add_waves(cluster, "after", count=10)
    _assert_all_once(cluster, due)
    assert all("tick failed, next in" in replica.output for replica in replicas)


@pytest.mark.slow
def test_the_heartbeat_file_stays_young_while_the_server_is_away(
    disposable_postgres: PostgresServer, cluster_on: Callable[[str], Cluster]
) -> None:
    """Or a probe would restart the process, which mends no server and costs its local tasks."""
    cluster = cluster_on(disposable_postgres.create_database("away"))
    call_command("migrate", database=cluster.alias, verbosity=0)
    (replica,) = cluster.start(1, *FAST)
    cluster.disconnect()
    disposable_postgres.shut_down()
    wait_until(lambda: "tick failed, next in" in replica.output, seconds=15)
    oldest = 0.0
    with stopwatch() as seconds:
        while seconds() < 40:
            time.sleep(0.5)
            oldest = max(oldest, replica.heartbeat_age)
    # Touched by the watchdog, which looks every 5 seconds, when it is 10 seconds old.
    assert 9 < oldest < 20
    disposable_postgres.restart()
    replica.wait_for_tick()
    assert cluster.stop() == [0]
