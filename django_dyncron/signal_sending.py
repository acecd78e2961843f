"""From the scheduler's events to Django signals: an observer that costs nothing unheard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from . import signals
from .conf import read_settings
from .context import CurrentRun
from .core.events import (
    Event,
    JobBroken,
    LockFailed,
    RunEnqueued,
    RunFailed,
    RunFinished,
    RunLost,
    RunStarted,
    SlotsSkipped,
    StepFailed,
    TickFailed,
    TickResult,
)
from .signals import DyncronSignal

Arguments = Mapping[str, Any]


def send_signals(event: Event) -> None:
    """Send the signals that ``event`` stands for; an observer for :class:`DynamicScheduler`."""
    for signal, arguments in signals_of(event, DyncronSignal.has_listeners):
        signal.send_robust(sender=None, **arguments)


def signals_of(
    event: Event, is_wanted: Callable[[DyncronSignal], bool]
) -> Iterator[tuple[DyncronSignal, Arguments]]:
    """Yield each signal that ``event`` stands for and that ``is_wanted``, with its arguments."""
    for signal, arguments_of in _TOLD.get(type(event), ()):
        if is_wanted(signal):
            arguments = arguments_of(event)
            if arguments is not None:
                yield signal, arguments


def _enqueued(event: RunEnqueued) -> Arguments:
    return {
        "run": event.run,
        "at": event.at,
        "task_id": event.task_id,
        "lateness": event.lateness,
    }


def _late(event: RunEnqueued) -> Arguments | None:
    lateness = event.lateness
    if not lateness or lateness <= timedelta(seconds=read_settings()[0].late_after_seconds):
        return None
    return {"run": event.run, "at": event.at, "lateness": lateness}


def _delivery_failed(event: RunFailed) -> Arguments | None:
    if event.retry_at is None:
        return None
    return {"run": event.run, "error": event.error, "retry_at": event.retry_at}


def _failed(event: RunFailed) -> Arguments | None:
    if event.retry_at is not None:
        return None
    return {"run": CurrentRun.of(event.run), "error": event.error, "status": str(event.status)}


def _run(event: RunStarted | RunFinished | RunLost) -> Arguments:
    return {"run": CurrentRun.of(event.run)}


def _skipped(event: SlotsSkipped) -> Arguments:
    return {
        "job_id": event.job_id,
        "reason": str(event.reason),
        "first": event.first,
        "last": event.last,
        "count": event.count,
    }


_TOLD: dict[type[Any], tuple[tuple[DyncronSignal, Callable[[Any], Arguments | None]], ...]] = {
    RunEnqueued: ((signals.run_enqueued, _enqueued), (signals.run_late, _late)),
    RunStarted: ((signals.run_started, _run),),
    RunFinished: ((signals.run_succeeded, _run),),
    RunFailed: ((signals.delivery_failed, _delivery_failed), (signals.run_failed, _failed)),
    RunLost: ((signals.run_lost, _run),),
    SlotsSkipped: ((signals.slots_skipped, _skipped),),
    JobBroken: (
        (signals.job_broken, lambda event: {"job_id": event.job_id, "error": event.error}),
    ),
    LockFailed: (
        (signals.lock_failed, lambda event: {"error": event.error, "decision": event.decision}),
    ),
    StepFailed: ((signals.step_failed, lambda event: {"step": event.step, "error": event.error}),),
    TickResult: ((signals.tick_done, lambda event: {"result": event}),),
    TickFailed: (
        (signals.tick_failed, lambda event: {"error": event.error, "retry_in": event.retry_in}),
    ),
}
