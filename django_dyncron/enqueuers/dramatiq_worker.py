"""What Dramatiq's workers need: the actor that runs background tasks, and the hook that tells runs.

Actors and hooks belong to one broker, so both are added to each: :func:`set_up`.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import dramatiq
from django.db import close_old_connections
from django.utils.module_loading import import_string
from dramatiq.middleware import Middleware, Retries

from ..calling import call_task
from ..context import CurrentRun, current_run
from ..core.exceptions import RunNotStarted
from ..once import Start, guard
from ..registry import registered_tasks, resolve_task
from ..worker import Work, error_text

ACTOR = "django_dyncron.run_background_task"
"""Name of the actor. Messages hold it, so it stays as it is, and so do its parameters."""
IDENTITY = "dyncron"
"""The option of a message that says which run it is."""

_MOST_RETRIES = 20
"""How often a guarded task is tried while the store cannot be asked: Dramatiq's own measure."""
_adding = threading.Lock()


def set_up_worker(broker: str | None = None) -> None:
    """Set up the broker that the options of an enqueuer lead to."""
    set_up(dramatiq.get_broker() if broker is None else broker_at(broker))


def broker_at(path: str) -> dramatiq.Broker:
    """Return the broker of a dotted path; raise :class:`ValueError` if there is none."""
    try:
        broker = import_string(path)
    except ImportError as error:
        raise ValueError(f"the broker {path!r} cannot be imported: {error}") from error
    if not isinstance(broker, dramatiq.Broker):
        raise ValueError(f"{path!r} is no broker of Dramatiq")
    return broker


def set_up(broker: dramatiq.Broker) -> None:
    """Add to ``broker`` what it needs to run background tasks and to tell of runs, once.

    Touches no network.
    """
    with _adding:
        if ACTOR in broker.actors:
            return
        first = type(broker.middleware[0]) if broker.middleware else None
        broker.add_middleware(CurrentRunMiddleware(), before=first)
        # Not by the decorator, which refuses an option whose middleware the broker does without.
        dramatiq.Actor(
            run_background_task,
            broker=broker,
            actor_name=ACTOR,
            queue_name="default",
            priority=0,
            options={"max_retries": 0, "retry_when": _is_worth_a_retry},
        )


def declare_queues(broker: dramatiq.Broker) -> None:
    """Declare the queues that background tasks suggest: a worker reads only declared ones."""
    for task in registered_tasks().values():
        broker.declare_queue(task.queue)


def run_background_task(task_name: str, payload: dict[str, Any]) -> None:
    """Run the background task ``task_name``, as the run that the message names."""
    call_task(resolve_task(task_name), payload, current_run())


class _Here(threading.local):
    """What the worker's thread is at."""

    work: Work | None = None
    max_retries: int = 0


_here = _Here()


class CurrentRunMiddleware(Middleware):
    """Makes the run of a message the current one, and tells the store of its start and end.

    It stands before all others, so that it begins first and ends last: by then it is known whether
    the message will be tried again.
    """

    def before_worker_boot(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:
        """Declare the queues of background tasks, which are all imported by now."""
        declare_queues(broker)

    def before_process_message(
        self, broker: dramatiq.Broker, message: dramatiq.MessageProxy
    ) -> None:
        _here.work = None
        _here.max_retries = message.options.get("max_retries", 0)
        if identity := message.options.get(IDENTITY):
            close_old_connections()
            work = Work(CurrentRun.from_json(identity), message.message_id)
            work.begin()
            _here.work = work

    def after_process_message(
        self,
        broker: dramatiq.Broker,
        message: dramatiq.MessageProxy,
        *,
        result: Any = None,
        exception: BaseException | None = None,
    ) -> None:
        if (work := _taken()) is None:
            return
        has_retries = any(isinstance(each, Retries) for each in broker.middleware)
        if exception is not None and has_retries and not message.failed:
            work.end_attempt(error_text(exception))
        else:
            work.end(error_text(exception))
        close_old_connections()

    def after_skip_message(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy) -> None:
        if (work := _taken()) is None:
            return
        known = guard.get()
        if (known and known.start is Start.FIRST) or message.options.get("retries"):
            # Called while the exception that skips the message is being handled.
            work.end(error_text(sys.exception()))
        else:
            # It began by another delivery, which tells of its end.
            work.leave()
        close_old_connections()


def _taken() -> Work | None:
    work, _here.work = _here.work, None
    return work


def _is_worth_a_retry(retries: int, error: BaseException) -> bool:
    """Decide for background tasks: as often as the job asks for, and if one could not start."""
    return retries < (_MOST_RETRIES if isinstance(error, RunNotStarted) else _here.max_retries)
