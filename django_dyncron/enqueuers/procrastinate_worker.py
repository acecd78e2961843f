"""What a Procrastinate worker needs: the task that runs background tasks, and who tells of runs.

Stored jobs hold the name of the task, so it keeps its name and its parameters.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from procrastinate import App, JobContext, RetryStrategy
from procrastinate.contrib.django import app as django_app
from procrastinate.exceptions import JobAborted
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Job

from .. import worker
from ..context import CurrentRun
from ..core.exceptions import RunNotStarted

GENERIC_TASK = "django_dyncron.run_background_task"
"""Name of the task that runs a background task."""
_LOCK_PREFIX = "django_dyncron:"
_RETRY = RetryStrategy(max_attempts=20, linear_wait=30, retry_exceptions={RunNotStarted})
"""A guarded task that could not ask for leave has not begun. Nothing else is tried again."""


def register(app: App) -> None:
    """Make the task that runs background tasks known to ``app``; once is enough, twice no harm."""
    if GENERIC_TASK not in app.tasks:
        app.task(name=GENERIC_TASK, pass_context=True, retry=_RETRY)(_run_background_task)


def set_up(app: App) -> None:
    """Let the workers of ``app`` run background tasks, and tell of runs of its own tasks.

    For ``PROCRASTINATE_ON_APP_READY``, or below the definition of an app of your own.
    """
    register(app)
    if not tells_runs(app):
        others = app.worker_defaults.get("worker_middleware") or []
        # A new dictionary: the old one may be the project's setting itself.
        app.worker_defaults = {**app.worker_defaults, "worker_middleware": [*others, tell_run]}


def tells_runs(app: App) -> bool:
    """Tell whether the workers of ``app`` were set up by :func:`set_up`."""
    return tell_run in (app.worker_defaults.get("worker_middleware") or ())


def lock_of(run: CurrentRun) -> str:
    """Return the lock of a job that is ``run``, which names it.

    A job carries nothing else besides its arguments. Two deliveries of one run share the lock, so
    they are never worked on at the same time; no other job has it.
    """
    return _LOCK_PREFIX + json.dumps(run.as_json())


async def tell_run(
    call_next: Callable[[], Awaitable[Any]], context: JobContext, _worker: object
) -> Any:
    """Tell the store of a run's start and end, and the task which run it is in.

    A worker middleware of Procrastinate: it runs in the event loop and wraps sync tasks too.
    """
    run = _run_named_by(context.job)
    if run is None:
        return await call_next()
    work = worker.Work(run, str(context.job.id))
    await work.abegin()
    try:
        result = await call_next()
    except BaseException as error:
        text = worker.error_text(error)
        await (work.aend_attempt(text) if _comes_back(context, error) else work.aend(text))
        raise
    await work.aend()
    return result


def _run_named_by(job: Job) -> CurrentRun | None:
    if job.lock is None or not job.lock.startswith(_LOCK_PREFIX):
        return None
    return CurrentRun.from_json(json.loads(job.lock.removeprefix(_LOCK_PREFIX)))


def _comes_back(context: JobContext, error: BaseException) -> bool:
    """Tell whether the worker will put the job back, as it decides that itself.

    An aborted job comes back only if it is the shutdown that aborted it.
    """
    if isinstance(error, JobAborted) and context.abort_reason() is not AbortReason.SHUTDOWN:
        return False
    task = context.app.tasks.get(context.job.task_name)
    return task is not None and task.get_retry_exception(error, context.job) is not None


def _run_background_task(
    context: JobContext, task_name: str, payload: dict[str, Any], run: dict[str, Any] | None = None
) -> None:
    worker.run_background_task(task_name, payload, run, str(context.job.id))


register(django_app)
