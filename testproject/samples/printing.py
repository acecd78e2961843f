"""An observer that prints each run as it happens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from django_dyncron.core.definitions import Run
from django_dyncron.core.events import (
    Event,
    JobBroken,
    LockFailed,
    RunEnqueued,
    RunFailed,
    RunFinished,
    RunLost,
    SlotsSkipped,
    TickFailed,
)


class RunPrinter:
    """Hands one line about each event worth one to ``write``."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def __call__(self, event: Event) -> None:
        line = _about_run(event) or _about_trouble(event)
        if line:
            self._write(f"{datetime.now(UTC):%H:%M:%S}  {line}")


def _about_run(event: Event) -> str:
    match event:
        case RunFinished(run):
            return f"{_of(run)}  succeeded"
        case RunEnqueued(run, _, task_id):
            return f"{_of(run)}  enqueued {task_id}".rstrip()
        case RunFailed(run, error, retry_at):
            again = f"; next try {retry_at:%H:%M:%S}" if retry_at else ""
            return f"{_of(run)}  failed: {error}{again}"
    return ""


def _about_trouble(event: Event) -> str:
    match event:
        case SlotsSkipped(job_id, reason, first, last, count):
            return (
                f"{job_id:<16} {count} skipped ({reason}), "
                f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
            )
        case RunLost(run):
            return f"{run.job_id:<16} lost: its process died"
        case JobBroken(job_id, error):
            return f"{job_id:<16} broken: {error}"
        case LockFailed(error):
            return f"the lock provider failed: {error}"
        case TickFailed(error):
            return f"the tick failed: {error}"
    return ""


def _of(run: Run) -> str:
    slot = f"{run.scheduled_for:%Y-%m-%d %H:%M}" if run.scheduled_for else "by hand"
    return f"{run.job_id:<16} {run.task_name:<32} {slot:<16}"
