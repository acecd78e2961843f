"""What a Celery worker needs: the task that runs background tasks, and hooks around all others.

Importing this gives both to every Celery app of the process. Messages hold the name of the task, so
it and its parameters stay.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import monotonic
from typing import Any
from uuid import UUID

from celery import Task, shared_task, signals, states
from celery.exceptions import TimeLimitExceeded, WorkerLostError
from django.db import close_old_connections, connections

from .. import worker
from ..calling import call_task
from ..context import CurrentRun, current_run
from ..core.exceptions import RunNotStarted
from ..once import Start, guard
from ..registry import resolve_task
from ..worker import Work, error_text

HEADER = "dyncron"
"""The header of a message that tells its run."""
TASK_NAME = "django_dyncron.run_background_task"
_WORK = "dyncron_work"
"""The attribute of a task's request that keeps what was begun for it."""
_TERMINATED = "The task was terminated."
_EXPIRED = "The task expired."
_REVOKED = "The task was revoked."


@shared_task(  # type: ignore[untyped-decorator]
    name=TASK_NAME,
    bind=True,
    ignore_result=True,
    # For this alone, since it means that nothing has happened; for an hour and a half at least.
    autoretry_for=(RunNotStarted,),
    retry_backoff=1,
    retry_backoff_max=60,
    retry_jitter=False,
    max_retries=100,
)
def run_background_task(
    self: Task, task_name: str, payload: dict[str, Any], run: dict[str, Any] | None = None
) -> None:
    """Run the background task ``task_name`` with ``payload``, as the run described by ``run``."""
    identity = current_run()
    if identity is None:  # no header, or no luck with it
        worker.run_background_task(task_name, payload, run, self.request.id)
    else:
        call_task(resolve_task(task_name), payload, identity)


@signals.task_prerun.connect  # type: ignore[untyped-decorator]
def begin_run(sender: Task, task_id: str, **_: object) -> None:
    """Make the run of a message the current one, and tell the store that it begins."""
    run = _run_in(sender.request.headers)
    if run is not None:
        begun = Work(run, task_id), monotonic()
        begun[0].begin()
        setattr(sender.request, _WORK, begun)


@signals.task_postrun.connect  # type: ignore[untyped-decorator]
def end_run(sender: Task, retval: Any, state: str | None, **_: object) -> None:
    """Leave the run and tell the store how it ended, unless Celery will run the task again."""
    if (begun := sender.request.get(_WORK)) is None:
        return
    work, began_at = begun
    if state == states.RETRY:
        work.end_attempt(error_text(retval.exc if isinstance(retval.exc, Exception) else retval))
    elif state == states.REJECTED and retval.requeue:
        work.end_attempt(error_text(retval))
    elif state in (states.SUCCESS, states.IGNORED):
        work.end()
    elif state is not None:
        work.end(error_text(retval))
    else:
        work.end(_end_of_process(sender, monotonic() - began_at))
    if not sender.request.is_eager:
        close_old_connections()


@signals.task_revoked.connect  # type: ignore[untyped-decorator]
def end_revoked_run(request: Any, terminated: bool, expired: bool, **_: object) -> None:
    """Tell the store of a run that was not let begin, or not let end."""
    run = _run_in(request.headers)
    if run is not None:
        error = _TERMINATED if terminated else _EXPIRED if expired else _REVOKED
        _tell_end(run, request.id, error, has_begun=terminated or bool(request.retries))


@signals.task_failure.connect  # type: ignore[untyped-decorator]
def end_killed_run(
    sender: Task, task_id: str, exception: BaseException, kwargs: Any, **_: object
) -> None:
    """Tell the store of a run whose process was killed, or is gone.

    The worker's main process hears of it, which after a hard time limit knows little of the task.
    """
    if not isinstance(exception, TimeLimitExceeded | WorkerLostError):
        return
    run = _run_in(sender.request.headers)
    if run is None and sender.name == TASK_NAME:
        run = CurrentRun.from_json(kwargs["run"]) if kwargs.get("run") else None
    elif run is None:
        run = _run_named(task_id)
    if run is not None:
        _tell_end(run, task_id, error_text(exception))


def _end_of_process(task: Task, seconds: float) -> str:
    """Say why a process ends within ``task``, in the words in which the main process says so.

    Both tell the store, nobody knows which of them last.
    """
    error = sys.exc_info()[1]
    if not (isinstance(error, SystemExit) and isinstance(error.code, int) and error.code < 0):
        return error_text(error)
    # Ended by a signal from the main process, whose clock was started a little earlier.
    limit = (task.request.timelimit or (None,))[0] or task.time_limit
    is_late = limit is not None and seconds > limit - 1
    return error_text(TimeLimitExceeded(limit)) if is_late else _TERMINATED


def _run_in(headers: Mapping[str, Any] | None) -> CurrentRun | None:
    identity = (headers or {}).get(HEADER)
    return None if identity is None else CurrentRun.from_json(identity)


def _run_named(task_id: str) -> CurrentRun | None:
    """Return the run that a task's id would be the id of; most tasks are no runs at all."""
    try:
        return CurrentRun(UUID(task_id), job_id="", scheduled_for=None)
    except ValueError:
        return None


def _tell_end(run: CurrentRun, task_id: str, error: str, *, has_begun: bool = True) -> None:
    """Tell that the run of a message ended.

    Of a message that has not begun it itself, only if no other delivery has: that one will tell.
    """
    work = Work(run, task_id)
    work.begin()
    known = guard.get()
    if has_begun or (known is not None and known.start is Start.FIRST):
        work.end(error)
    else:
        work.leave()
    # This process may fork, and a connection must not be shared.
    connections.close_all()
