"""What Huey's workers need: the task that runs background tasks, and the hooks that tell of runs.

Huey has no global registry, so both are added to each instance: :func:`set_up`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from functools import partial
from traceback import walk_tb
from typing import Any

from django.db import close_old_connections, connections
from django.utils.module_loading import import_string
from huey import Huey, signals
from huey.api import Task, TaskWrapper
from huey.exceptions import RetryTask

from ..calling import call_task
from ..context import CurrentRun
from ..core.exceptions import RunNotStarted
from ..once import Start, guard
from ..registry import resolve_task
from ..worker import Work, error_text

_NAME = "django_dyncron"
_STORE_SECONDS = 30
"""When to try again a task that starts once, if the store could not be asked."""
_DROPPED = {
    signals.SIGNAL_EXPIRED: "It expired before a worker took it.",
    signals.SIGNAL_REVOKED: "It was revoked before a worker took it.",
    signals.SIGNAL_CANCELED: "A hook of Huey cancelled it before it began.",
}

_adding = threading.Lock()
_generic_tasks: dict[Huey, TaskWrapper] = {}


def set_up_worker(
    huey: Huey | str | None = None, queues: Mapping[str, Huey | str] | None = None
) -> None:
    """Set up each instance that the options of an enqueuer lead to."""
    for instance in instances(huey, queues).values():
        set_up(instance)


def set_up(huey: Huey) -> TaskWrapper:
    """Add to ``huey`` what it needs, once, and return its task that runs background tasks.

    Touches no network.
    """
    with _adding:
        if huey not in _generic_tasks:
            _generic_tasks[huey] = huey.task()(run_background_task)
            huey.pre_execute(_NAME)(partial(_begin, huey))
            huey.post_execute(_NAME)(partial(_end, huey))
            huey.signal(*_DROPPED)(partial(_note_dropped, huey))
            huey.signal(signals.SIGNAL_INTERRUPTED)(_note_interrupted)
        return _generic_tasks[huey]


def instances(
    huey: Huey | str | None = None, queues: Mapping[str, Huey | str] | None = None
) -> dict[str, Huey]:
    """Return the instance behind each queue; raise :class:`ValueError` for what leads to none.

    An instance is one queue of Huey. One by itself is called ``"default"``, and by its own name.
    """
    if queues is None:
        instance = _instance_of_django() if huey is None else _instance(huey)
        return {"default": instance, instance.name: instance}
    if huey is not None:
        raise ValueError("huey and queues exclude each other.")
    if not queues:
        raise ValueError("queues must name a queue.")
    return {queue: _instance(each) for queue, each in queues.items()}


def run_background_task(
    task_name: str, payload: dict[str, Any], run: dict[str, Any] | None = None
) -> None:
    """Run the background task ``task_name`` with ``payload``, as the run described by ``run``.

    Messages hold the dotted path of this function, so it keeps its place and its parameters.
    """
    try:
        call_task(resolve_task(task_name), payload, CurrentRun.from_json(run) if run else None)
    except RunNotStarted as error:
        # Or the run would be lost: Huey has already forgotten the message.
        raise RetryTask(str(error), delay=_STORE_SECONDS) from error


def is_generic(task: Task) -> bool:
    """Tell whether ``task`` is a call of :func:`run_background_task`."""
    return type(task).__module__ == __name__


def id_with_run(run: CurrentRun) -> str:
    """Return an id for a task of Huey's own kind that says all of ``run``.

    Its messages hold nothing but arguments, which are the task's own, and the id.
    """
    identity = run.as_json()
    return f"{run.run_id}/{identity['scheduled_for'] or ''}/{run.job_id}"


def run_of(task: Task) -> CurrentRun | None:
    """Return the run that a task is, or ``None`` if it is none of ours."""
    if is_generic(task):
        run = task.kwargs.get("run")
        return CurrentRun.from_json(run) if run else None
    run_id, _, rest = str(task.id).partition("/")
    scheduled_for, slash, job_id = rest.partition("/")
    if not slash:
        return None
    try:
        return CurrentRun.from_json(
            {"run_id": run_id, "scheduled_for": scheduled_for or None, "job_id": job_id}
        )
    except ValueError:
        return None


def _instance_of_django() -> Huey:
    try:
        from huey.contrib.djhuey import HUEY
    except SystemExit as error:  # how it refuses a setting
        raise ValueError("the setting HUEY does not lead to an instance of Huey") from error
    return _instance(HUEY)


def _instance(written: Huey | str) -> Huey:
    target = written
    if isinstance(written, str):
        try:
            target = import_string(written)
        except ImportError as error:
            raise ValueError(f"{written!r} cannot be imported: {error}") from error
    if not isinstance(target, Huey):
        raise ValueError(f"{written!r} is no instance of Huey")
    return target


# --- hooks: called where the task runs, be it a thread, a process or a greenlet ------------------

_begun: ContextVar[tuple[Task, Work] | None] = ContextVar("django_dyncron_huey", default=None)
"""The task that has begun here, if it is a run."""


def _begin(huey: Huey, task: Task) -> None:
    left_behind = _begun.get()
    if left_behind is not None and not huey.immediate:
        # In a worker no task is inside another: the result of that one could not be stored.
        left_behind[1].leave()
        _begun.set(None)
    if (run := run_of(task)) is not None:
        _close_old_connections(huey)
        work = Work(run, task.id)
        work.begin()
        _begun.set((task, work))


def _end(huey: Huey, task: Task, value: object, error: BaseException | None) -> None:
    begun = _begun.get()
    if begun is None or begun[0] is not task:
        return
    work = begun[1]
    _begun.set(None)
    # By now Huey has counted: what has retries left is tried again.
    if error is not None and task.retries:
        work.end_attempt(error_text(error))
    else:
        work.end(error_text(error))
    _close_old_connections(huey)
    if error is not None and is_generic(task):
        # Nobody fetches it, and most storages keep what is not fetched for ever.
        huey.delete(task.id)


def _note_dropped(huey: Huey, signal: str, task: Task) -> None:
    """Tell of a run that Huey will not begin, unless it has begun already."""
    if (run := run_of(task)) is None:
        return
    begun = _begun.get()
    if begun is not None and begun[0] is task:
        if _is_leaving(task):
            return  # it cancels itself, and has its end told like any other
        work = begun[1]  # a hook that came after ours
        _begun.set(None)
    else:
        _close_old_connections(huey)
        work = Work(run, task.id)
        work.begin()
    known = guard.get()
    if known is not None and known.start is Start.FIRST:
        work.end(_DROPPED[signal])
    else:
        work.leave()
    _close_old_connections(huey)


def _is_leaving(task: Task) -> bool:
    """Tell whether the exception being handled came out of ``task``, not out of a hook before it.

    Huey sends the same signal for both.
    """
    frames = walk_tb(sys.exc_info()[2])
    return any(frame.f_code is type(task).execute.__code__ for frame, _ in frames)


def _note_interrupted(signal: str, task: Task) -> None:
    """Tell of a run that ends with its worker: Huey does not try it again.

    For workers that are threads this is called by the main one, where nothing has begun.
    """
    if (run := run_of(task)) is None:
        return
    # It may have been interrupted in the middle of a query.
    connections.close_all()
    work = Work(run, task.id)
    work.begin()
    work.end("Its worker was stopped before it had ended.")


def _close_old_connections(huey: Huey) -> None:
    """Look after the connections of a worker; in immediate mode they belong to the caller."""
    if not huey.immediate:
        close_old_connections()
