"""The scheduler's log lines: one receiver that puts events into words.

All of them go to the logger ``django_dyncron`` and carry ``action`` and, where there is one,
``job_id`` and ``run_id``. Payloads are logged at DEBUG only: they may hold secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from .core.events import (
    Event,
    JobBroken,
    LockFailed,
    RunEnqueued,
    RunFailed,
    RunFinished,
    RunLost,
    RunStarted,
    SchedulerStarted,
    SchedulerStopped,
    SignOfLife,
    SlotsSkipped,
    StepFailed,
    TickFailed,
    TickResult,
)
from .core.exceptions import StoreUnavailable

logger = logging.getLogger("django_dyncron")


def log_event(event: Event) -> None:
    """Log ``event``; an observer for :class:`DynamicScheduler`."""
    _WRITERS[type(event)](event)


def _extra(action: str, **more: object) -> dict[str, object]:
    return {"action": action, **more}


def _tick(event: TickResult) -> None:
    logger.debug(
        "tick: %d enqueued, %d failed, %d skipped, %d refused",
        event.enqueued,
        event.failed,
        event.skipped,
        event.refused,
        extra=_extra("tick", seconds=event.took.total_seconds()),
    )


def _enqueued(event: RunEnqueued) -> None:
    run = event.run
    extra = _extra("run_enqueued", job_id=run.job_id, run_id=str(run.run_id))
    logger.info("%s: enqueued for %s", run.job_id, run.scheduled_for or "now", extra=extra)
    logger.debug("%s: payload %r", run.job_id, run.payload, extra=extra)


def _run_started(event: RunStarted) -> None:
    run = event.run
    extra = _extra("run_started", job_id=run.job_id, run_id=str(run.run_id))
    logger.debug("%s: started", run.job_id, extra=extra)


def _failed(event: RunFailed) -> None:
    run = event.run
    extra = _extra("run_failed", job_id=run.job_id, run_id=str(run.run_id))
    if event.retry_at is None:
        logger.error("%s: failed: %s", run.job_id, event.error, extra=extra)
    else:
        logger.warning("%s: tries again: %s", run.job_id, event.error, extra=extra)


def _finished(event: RunFinished) -> None:
    run = event.run
    extra = _extra("run_finished", job_id=run.job_id, run_id=str(run.run_id))
    logger.info("%s: succeeded", run.job_id, extra=extra)


def _lost(event: RunLost) -> None:
    run = event.run
    extra = _extra("run_lost", job_id=run.job_id, run_id=str(run.run_id))
    logger.error("%s: lost, its process died or was stopped while it ran", run.job_id, extra=extra)


def _skipped(event: SlotsSkipped) -> None:
    logger.warning(
        "%s: skipped %d from %s to %s (%s)",
        event.job_id,
        event.count,
        event.first,
        event.last,
        event.reason,
        extra=_extra("slots_skipped", job_id=event.job_id),
    )


def _broken(event: JobBroken) -> None:
    extra = _extra("job_broken", job_id=event.job_id)
    logger.error("%s: cannot be planned: %s", event.job_id, event.error, extra=extra)


def _lock_failed(event: LockFailed) -> None:
    extra = _extra("lock_failed", decision=event.decision)
    logger.warning("lock provider: %s (%s)", event.error, event.decision, extra=extra)


def _tick_failed(event: TickFailed) -> None:
    seconds = event.retry_in.total_seconds()
    logger.error(
        "tick failed, next in %.1f s: %s",
        seconds,
        event.error,
        exc_info=_traceback_of(event.error),
        extra=_extra("tick_failed", seconds=seconds),
    )


def _step_failed(event: StepFailed) -> None:
    logger.error(
        "%s failed: %s",
        event.step,
        event.error,
        exc_info=_traceback_of(event.error),
        extra=_extra("step_failed", step=event.step),
    )


def _traceback_of(error: BaseException) -> BaseException | None:
    """Return what to log the traceback of: where the database is away there is none to read."""
    return None if isinstance(error, StoreUnavailable) else error


def _sign_of_life(event: SignOfLife) -> None:
    logger.debug("sign of life at %s", event.at, extra=_extra("sign_of_life"))


def _started(event: SchedulerStarted) -> None:
    logger.info("scheduler %s started", event.replica_id, extra=_extra("scheduler_started"))


def _stopped(event: SchedulerStopped) -> None:
    extra = _extra("scheduler_stopped", unfinished=event.unfinished)
    if event.unfinished:
        logger.error(
            "scheduler %s stopped, %d runs given up",
            event.replica_id,
            event.unfinished,
            extra=extra,
        )
    else:
        logger.info("scheduler %s stopped", event.replica_id, extra=extra)


_WRITERS: dict[type[Any], Callable[[Any], None]] = {
    TickResult: _tick,
    RunEnqueued: _enqueued,
    RunStarted: _run_started,
    RunFailed: _failed,
    RunFinished: _finished,
    RunLost: _lost,
    SlotsSkipped: _skipped,
    JobBroken: _broken,
    LockFailed: _lock_failed,
    TickFailed: _tick_failed,
    StepFailed: _step_failed,
    SignOfLife: _sign_of_life,
    SchedulerStarted: _started,
    SchedulerStopped: _stopped,
}
