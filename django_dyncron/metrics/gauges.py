"""How the scheduler is, read from the database when somebody scrapes: the same in all replicas."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from time import monotonic

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..health import MOST, Health, ReplicaState, read_health_in_time

_READING_SECONDS = 3.0
"""How long a scrape waits for the database: Prometheus itself gives up after ten seconds."""
_GOOD_FOR_SECONDS = 5.0
"""However many scrapers there are, the database is not asked more often than this."""

_logger = logging.getLogger("django_dyncron")


class HealthCollector(Collector):
    """Gauges of the database ``using`` (default: the scheduler's), read when somebody scrapes.

    If it cannot be read in time, there is ``dyncron_database_up 0`` and no other gauge.
    """

    def __init__(self, using: str | None = None) -> None:
        self._using = using
        self._lock = threading.Lock()
        self._asks_again_at = float("-inf")
        self._health = Health()

    def describe(self) -> Iterable[Metric]:
        """Return nothing: registering it must not read."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges, a few seconds old at most."""
        with self._lock:
            if monotonic() >= self._asks_again_at:
                self._health = self._read()
                self._asks_again_at = monotonic() + _GOOD_FOR_SECONDS
            health = self._health
        yield _gauge(
            "dyncron_database_up",
            "Whether the database could be read in time.",
            float(health.is_readable),
        )
        if health.is_readable:
            yield from _gauges_of(health)

    def _read(self) -> Health:
        try:
            return read_health_in_time(_READING_SECONDS, self._using)
        except Exception:
            # Whatever a row holds, the counters must be told.
            extra = {"action": "metrics_failed"}
            _logger.exception("Cannot read the figures for the metrics", extra=extra)
            return Health()


def _gauges_of(health: Health) -> Iterator[Metric]:
    more = f"At most {MOST} are counted."
    lateness = health.overdue.lateness or timedelta(0)
    yield _gauge(
        "dyncron_healthy", "Whether dyncron_status finds no problem.", float(health.is_healthy)
    )
    yield _gauge(
        "dyncron_jobs_overdue",
        f"Jobs whose slot nobody has claimed although it is high time. {more}",
        health.overdue.count,
    )
    yield _gauge(
        "dyncron_oldest_overdue_seconds",
        "How late the oldest of the overdue slots is.",
        lateness.total_seconds(),
    )
    yield _gauge("dyncron_jobs_broken", f"Jobs that cannot be planned. {more}", health.broken.count)
    yield _gauge(
        "dyncron_jobs_failing", f"Jobs whose last run failed. {more}", health.failing.count
    )
    yield _gauge(
        "dyncron_runs_waiting",
        f"Runs whose time or lease has ended and that nobody has taken up. {more}",
        health.waiting_runs,
    )
    yield _gauge(
        "dyncron_runs_undelivered",
        f"Runs that their queue has not taken for minutes, however often asked. {more}",
        health.undelivered.count,
    )
    yield _gauge(
        "dyncron_paused", "Whether everything is paused.", float(health.paused is not None)
    )
    yield _gauge(
        "dyncron_clock_skew_seconds",
        "How far this host's clock is ahead of the database's.",
        health.skew.total_seconds(),
    )
    yield from _gauges_of_replicas(health)


def _gauges_of_replicas(health: Health) -> Iterator[Metric]:
    replicas = GaugeMetricFamily(
        "dyncron_replicas", "Scheduler processes, by their signs of life.", labels=["state"]
    )
    for state in ReplicaState:
        replicas.add_metric([state.value], len(health.replicas_in(state)))
    yield replicas
    if health.read_at is not None and health.replicas:
        # Not an age, which would stand still where nobody scrapes anew.
        seen_at: datetime = health.replicas[0].seen_at
        yield _gauge(
            "dyncron_last_sign_of_life_timestamp_seconds",
            "When the last sign of life of any replica came, by the database's clock.",
            seen_at.timestamp(),
        )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
