"""Two replicas that serve metrics: together their figures are those of the rows."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from tests.integration.cluster import Cluster, wait_until


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def scrape(port: int) -> dict[str, float]:
    """Return the samples, those of a metric with labels added up."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    sums: dict[str, float] = {}
    for family in families:
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0) + sample.value
    return sums


def test_the_figures_of_two_replicas_add_up(postgres_cluster: Cluster) -> None:
    cluster = postgres_cluster
    ports = free_ports(2)
    for port in ports:
        cluster.start_one("--tick-interval", "0.2", "--metrics-port", str(port))
    slots = cluster.add_missed([f"job-{number}" for number in range(100)], 3)
    cluster.add_missed(["once"], 5, misfire_policy="fire_once")
    cluster.wait_for_enqueued(len(slots) + 1)
    enqueued = cluster.runs.filter(enqueued_at__isnull=False)
    wait_until(lambda: enqueued.count() == 301, 20, lambda: cluster.output)

    def total(name: str) -> float:
        return sum(scrape(port).get(name, 0) for port in ports)

    # Counted once the rows are committed.
    wait_until(lambda: total("dyncron_runs_enqueued_total") == 301, 10, lambda: cluster.output)
    assert total("dyncron_lateness_seconds_count") == 301
    assert total("dyncron_slots_skipped_total") == 4
    assert total("dyncron_runs_finished_total") == 0
    for port in ports:
        read = scrape(port)
        assert read["dyncron_tick_duration_seconds_count"] > 0
        assert (read["dyncron_database_up"], read["dyncron_healthy"]) == (1, 1)
        assert read["dyncron_replicas"] == 2
    assert cluster.stop() == [0, 0]
