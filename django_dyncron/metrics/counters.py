"""What this process does, counted whatever becomes of the database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from .. import __version__, signals
from ..core.definitions import Run
from ..core.events import Event, TickResult
from ..core.policies import OnLockError, RunStatus, SkipReason
from ..signal_sending import signals_of
from ..signals import DyncronSignal

_LATENESS_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 86_400)
_TICK_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_MOST_WAYS = 100
"""So many pairs of enqueuer and queue are told apart: names of queues are written by anybody."""
_OTHER = "(other)"
_ENDS = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.UNKNOWN, RunStatus.LOST)


class DyncronMetrics:
    """Counts what this process does, in ``registry``; once a registry.

    An observer of the scheduler's events or, after :meth:`connect`, a receiver of signals, which in
    workers count the runs they start and end.
    """

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        # In Prometheus' multiprocess mode one value, not one of each process that ever was.
        shared: Any = {"registry": registry, "multiprocess_mode": "max"}
        self._ways: set[tuple[str, str]] = set()
        info = Gauge("dyncron_build_info", "The version at work.", ["version"], **shared)
        info.labels(version=__version__).set(1)
        self._enqueued = Counter(
            "dyncron_runs_enqueued",
            "Runs that a queue took.",
            ["enqueuer", "queue"],
            registry=registry,
        )
        self._lateness = Histogram(
            "dyncron_lateness_seconds",
            "How long after they were due, jitter not counted, scheduled runs were enqueued.",
            buckets=_LATENESS_SECONDS,
            registry=registry,
        )
        self._delivery_failures = Counter(
            "dyncron_delivery_failures",
            "Failed attempts to hand over a run that is tried again.",
            ["enqueuer", "queue"],
            registry=registry,
        )
        self._started = Counter(
            "dyncron_runs_started", "Runs that this process began.", registry=registry
        )
        self._finished = Counter(
            "dyncron_runs_finished",
            "Runs whose end this process saw: its own, and those it could not hand over.",
            ["status"],
            registry=registry,
        )
        self._skipped = Counter(
            "dyncron_slots_skipped",
            "Slots that were recorded as skipped.",
            ["reason"],
            registry=registry,
        )
        self._ticks = Histogram(
            "dyncron_tick_duration_seconds",
            "How long ticks took that went well.",
            buckets=_TICK_SECONDS,
            registry=registry,
        )
        self._last_tick = Gauge(
            "dyncron_last_tick_timestamp_seconds",
            "When the last tick ended that went well, by this host's clock.",
            **shared,
        )
        self._tick_failures = Counter(
            "dyncron_tick_failures", "Ticks that ended in an error.", registry=registry
        )
        self._step_failures = Counter(
            "dyncron_step_failures",
            "Failures of what a tick does beside the runs: heartbeats, sweeps, pruning.",
            registry=registry,
        )
        self._lock_failures = Counter(
            "dyncron_lock_failures",
            "Times the lock provider could not answer, by what was done then.",
            ["decision"],
            registry=registry,
        )
        self._begin_at_zero()
        self._receivers = self._all_receivers()

    def __call__(self, event: Event) -> None:
        """Count ``event``."""
        for signal, arguments in signals_of(event, self._receivers.__contains__):
            self._receivers[signal](**arguments)

    def connect(self) -> None:
        """Count from now on what is signalled in this process."""
        for signal, receiver in self._receivers.items():
            signal.connect(receiver, weak=False, dispatch_uid=id(self))

    def disconnect(self) -> None:
        """Count no longer; what was counted stays."""
        for signal in self._receivers:
            signal.disconnect(dispatch_uid=id(self))

    def _begin_at_zero(self) -> None:
        """Show what has not happened yet, so that its first time is an increase."""
        for status in _ENDS:
            self._finished.labels(status=status.value)
        for reason in SkipReason:
            self._skipped.labels(reason=reason.value)
        for decision in OnLockError:
            self._lock_failures.labels(decision=decision.value)

    def _all_receivers(self) -> dict[DyncronSignal, Callable[..., None]]:
        return {
            signals.run_enqueued: self._on_enqueued,
            signals.delivery_failed: self._on_delivery_failed,
            signals.run_started: lambda **_: self._started.inc(),
            signals.run_succeeded: lambda **_: self._end(RunStatus.SUCCEEDED),
            signals.run_failed: lambda status, **_: self._end(status),
            signals.run_lost: lambda **_: self._end(RunStatus.LOST),
            signals.slots_skipped: self._on_skipped,
            signals.tick_done: self._on_tick,
            signals.tick_failed: lambda **_: self._tick_failures.inc(),
            signals.step_failed: lambda **_: self._step_failures.inc(),
            signals.lock_failed: self._on_lock_failed,
        }

    def _on_enqueued(self, run: Run, lateness: timedelta | None, **_: Any) -> None:
        self._enqueued.labels(*self._way_of(run)).inc()
        if lateness is not None:
            self._lateness.observe(lateness.total_seconds())

    def _on_delivery_failed(self, run: Run, **_: Any) -> None:
        self._delivery_failures.labels(*self._way_of(run)).inc()

    def _end(self, status: str) -> None:
        self._finished.labels(status=str(status)).inc()

    def _on_skipped(self, reason: str, count: int, **_: Any) -> None:
        self._skipped.labels(reason=reason).inc(count)

    def _on_tick(self, result: TickResult, **_: Any) -> None:
        self._ticks.observe(result.took.total_seconds())
        self._last_tick.set_to_current_time()

    def _on_lock_failed(self, decision: str, **_: Any) -> None:
        self._lock_failures.labels(decision=str(decision)).inc()

    def _way_of(self, run: Run) -> tuple[str, str]:
        way = run.enqueuer or "default", run.queue
        if way not in self._ways:
            if len(self._ways) >= _MOST_WAYS - 1:
                return way[0], _OTHER
            self._ways.add(way)
        return way
