"""What an RQ worker runs for a cron job: one function, which finds the task and tells of its run.

Jobs in Redis hold its dotted path, so it keeps its place and its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import django
from django.apps import apps
from django.db import close_old_connections
from rq import Retry, get_current_job
from rq.job import Job

from ..calling import call_task
from ..context import CurrentRun
from ..registry import import_task_module, is_allowed, is_task_module, resolve_task
from ..worker import Work, error_text

META_KEY = "dyncron"
"""Where the meta of a job says which run it is."""


def run_task(task_name: str, payload: dict[str, Any]) -> Any:
    """Run the task ``task_name`` with ``payload``, as the run that the RQ job belongs to.

    Returns what the task returns, which RQ keeps as the job's result. Raises
    :class:`EnqueueRefused` if the worker may not run it, and whatever the task raises.
    """
    if not apps.ready:
        # RQ's own worker knows nothing of Django.
        django.setup()
    close_old_connections()
    try:
        job = get_current_job()
        if job is None or META_KEY not in job.meta:
            return call_task(find_task(task_name), payload, None)
        return _run_in(job, task_name, payload)
    finally:
        close_old_connections()


def find_task(name: str) -> Callable[..., Any]:
    """Return the function of a task, or raise :class:`EnqueueRefused`.

    It is one that was made a job by RQ's decorator, in the ``tasks`` module of an installed app or
    where ``ALLOWED_TASKS`` allows; or else a background task.
    """
    module_name, _, attribute = name.rpartition(".")
    if is_task_module(module_name) or is_allowed(name):
        target = getattr(import_task_module(module_name), attribute, None)
        if isinstance(target, FunctionType) and enqueue_method(target) is not None:
            return target
    return resolve_task(name)


def enqueue_method(function: FunctionType) -> Callable[..., Any] | None:
    """Return what RQ's decorator has added to ``function``, if it has.

    It is called ``enqueue`` since RQ 2, ``delay`` before and beside it.
    """
    return getattr(function, "enqueue", None) or getattr(function, "delay", None)


def _run_in(job: Job, task_name: str, payload: Mapping[str, Any]) -> Any:
    run = CurrentRun.from_json(job.meta[META_KEY])
    work = Work(run, job.id)
    work.begin()
    try:
        result = call_task(find_task(task_name), payload, run)
    except BaseException as error:
        end = work.end_attempt if job.retries_left else work.end
        end(error_text(error))
        raise
    if isinstance(result, Retry):
        retries = job.number_of_retries or 0
        end = work.end_attempt if retries < result.max else work.end
        end(f"It asked for a retry, after {retries}.")
    else:
        work.end()
    return result
