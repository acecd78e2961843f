"""A lock server that forgets, dies, evicts and hangs: with a durable claim it is only a gate."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import redis

from tests.chaos.real_servers import judge_cluster
from tests.chaos.scoreboard import Score, sizes
from tests.integration.cluster import Cluster, Slots
from tests.servers import ValkeyServer

FAST = ("--tick-interval", "0.1")
# Locks are not asked for slots older than this, and here all of them are.
LONG_LOCKS = {"LOCK_TTL_SECONDS": 3_600}
JOBS, SLOTS = 5, 5

Trouble = Callable[[ValkeyServer], None]


def flush(server: ValkeyServer) -> None:
    server.flush()


def restart(server: ValkeyServer) -> None:
    server.restart()


def kill(server: ValkeyServer) -> None:
    server.kill()
    time.sleep(0.2)
    server.restart()


def evict(server: ValkeyServer) -> None:
    """Leave no room, so that every lock drives out another key, a lock perhaps, or is refused."""
    with redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory-policy", "volatile-lru")
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 20_000)
        for number in range(200):
            try:
                client.set(f"filler-{number}", "x" * 500, ex=60)
            except redis.ResponseError:
                return


def hang(server: ValkeyServer) -> None:
    """Answer nobody for two seconds, which is longer than a client waits."""
    with redis.Redis.from_url(server.url) as client:
        client.client_pause(2_000)
    time.sleep(2)


@pytest.mark.parametrize("trouble", [flush, restart, kill, evict, hang])
@sizes(short=4, full=40)
def test_trouble_with_the_lock_server(
    score: Score,
    size: int,
    trouble: Trouble,
    postgres_cluster: Cluster,
    disposable_valkey: ValkeyServer,
) -> None:
    cluster = postgres_cluster
    cluster.start(2 if size < 10 else 4, *FAST, LOCK_PROVIDER=disposable_valkey.url, **LONG_LOCKS)
    due: Slots = set()
    for wave in range(size):
        due |= cluster.add_missed([f"job-{wave}-{number}" for number in range(JOBS)], SLOTS)
        time.sleep(0.05)
        if wave % 2:
            trouble(disposable_valkey)
    cluster.wait_for_enqueued(len(due), seconds=60)
    assert set(cluster.stop()) == {0}
    verdict = judge_cluster(cluster, due)
    verdict.faults = size // 2
    score.add(verdict)
    assert (verdict.slots, verdict.delivered) == (size * JOBS * SLOTS, verdict.slots)
