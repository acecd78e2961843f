"""Huey as the queue: the instance of ``huey.contrib.djhuey``, or others of the project's own."""

from __future__ import annotations

import socket
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from inspect import signature
from typing import Any

from django.db import close_old_connections
from huey import Huey
from huey.api import Task, TaskWrapper
from huey.storage import BlackHoleStorage, MemoryStorage

from ..context import CurrentRun
from ..core.definitions import Run
from ..core.exceptions import EnqueueNotSent, EnqueueRefused
from ..core.phrases import Phrase, either, gettext_noop
from ..core.text import one_line
from ..registry import bind_payload, import_task_module, is_allowed, is_task_module, resolve_task
from ._broker import BrokerTaskEnqueuer
from ._options import Reader, read_options, whole
from .huey_worker import id_with_run, instances, set_up

_YEAR = 366 * 86_400
_READERS: Mapping[str, Reader] = {
    name: reader
    for name, reader in {
        "priority": whole(-1_000_000, 1_000_000),
        "expires": whole(1, _YEAR),
        "retries": whole(0, 1_000_000),
        "retry_delay": whole(0, _YEAR),
        "retry_backoff": whole(1, 1_000),
        "timeout": whole(1, _YEAR),
    }.items()
    if name in signature(Task).parameters  # older releases lack the last ones
}
"""Options of a task of Huey. Times are in seconds."""
_SOCKET_SECONDS = 5.0
_Message = tuple[Huey, Task]


class HueyTaskEnqueuer(BrokerTaskEnqueuer[_Message]):
    """Enqueues tasks with an instance of Huey.

    A task name is the dotted path, or the registered name, of a task of that instance, which gets
    the payload as it is, or that of a background task, which a task of this package runs inside
    the worker. ``huey`` is an instance or the dotted path of one; ``None`` is the one of
    ``huey.contrib.djhuey``. Its queue is called ``"default"`` or by its own name. With several
    instances, ``queues`` says which one each queue of the jobs is.

    Raises :class:`ValueError` for what leads to no instance.
    """

    sends_batches = False
    worker_module = "django_dyncron.enqueuers.huey_worker"

    def __init__(
        self, huey: Huey | str | None = None, queues: Mapping[str, Huey | str] | None = None
    ) -> None:
        super().__init__()
        self._instances = instances(huey, queues)
        self._generic_tasks = {each: set_up(each) for each in self._instances.values()}
        self._bounded: set[Huey] = set()

    @property
    def lacks_workers(self) -> str:
        """What keeps other processes from running the tasks; blank if nothing does."""
        for huey in self._generic_tasks:
            if huey.immediate:
                return "immediate mode of Huey"
            if isinstance(huey.storage, MemoryStorage | BlackHoleStorage):
                return f"{type(huey.storage).__name__} of Huey"
        return ""

    def check_options(self, options: Mapping[str, Any]) -> None:
        read = read_options("Huey", options, _READERS)
        if not any(each.storage.priority for each in self._generic_tasks):
            _refuse_priority(read.get("priority"), "options")

    def prepare(
        self, task_name: str, payload: dict[str, Any], queue: str, run: Run | None = None
    ) -> _Message:
        huey = self._instance_for(queue)
        options = {} if run is None else read_options("Huey", run.options, _READERS)
        identity = None if run is None else CurrentRun.of(run)
        wrapper = _find_task(task_name)
        if wrapper is None:
            bind_payload(resolve_task(task_name), payload)
            wrapper = self._generic_tasks[huey]
            arguments = {"task_name": task_name, "payload": payload}
            if identity is not None:
                arguments["run"] = identity.as_json()
                options["id"] = str(identity.run_id)
        else:
            self._refuse_elsewhere(wrapper, task_name, huey)
            _bind(wrapper, payload)
            arguments = dict(payload)
            if identity is not None:
                options["id"] = id_with_run(identity)
        # Not by a call of the wrapper: it would take an argument called "delay" for its own.
        task = wrapper.task_class((), arguments, **options)
        if not huey.storage.priority:
            _refuse_priority(task.priority, "options" if "priority" in options else "task_name")
        return huey, task

    def send(self, messages: Sequence[_Message]) -> Iterator[str | Exception]:
        try:
            for huey, task in messages:
                if huey not in self._bounded:
                    _bound_waiting(huey)
                    self._bounded.add(huey)
                try:
                    huey.enqueue(task)
                except Exception as error:
                    what = one_line(error, with_type=True)
                    yield EnqueueNotSent(what) if _is_unsent(error) else error
                    # One after the other would wait as long for an answer.
                    raise EnqueueNotSent(f"Not tried after one that failed: {what}") from error
                yield task.id
        finally:
            # Signals of the project, and tasks in immediate mode, may use the database here.
            close_old_connections()

    def _instance_for(self, queue: str) -> Huey:
        try:
            return self._instances[queue]
        except KeyError:
            message = gettext_noop("There is no queue %(queue)r of Huey: use one of %(known)s.")
            values = {"queue": queue, "known": ", ".join(sorted(self._instances))}
            raise EnqueueRefused(Phrase(message, values), field="queue") from None

    def _refuse_elsewhere(self, wrapper: TaskWrapper, name: str, huey: Huey) -> None:
        if wrapper.huey is huey:
            return
        queues = [queue for queue, each in self._instances.items() if each is wrapper.huey]
        if not queues:
            message = gettext_noop("%(name)r is a task of an instance of Huey that has no queue.")
            raise EnqueueRefused(Phrase(message, {"name": name}))
        message = gettext_noop("%(name)r is a task of the queue %(queues)s.")
        values = {"name": name, "queues": reduce(either, map(repr, queues))}
        raise EnqueueRefused(Phrase(message, values), field="queue")


def _find_task(name: str) -> TaskWrapper | None:
    """Return the task of this dotted path or registered name, or ``None`` if there is no such.

    Looked for in modules that are there already, ``tasks`` modules of installed apps, and where
    ``ALLOWED_TASKS`` allows: importing a module is running it.
    """
    module_name, _, attribute = name.rpartition(".")
    module = sys.modules.get(module_name)
    if module is None:
        if not (is_task_module(module_name) or is_allowed(name)):
            return None
        module = import_task_module(module_name)
    # Not by getattr(), by which a module may import others.
    members = dict(getattr(module, "__dict__", {}))
    if isinstance(members.get(attribute), TaskWrapper):
        return members[attribute]
    # The registry itself is private, but a task knows by which name it is there.
    for each in members.values():
        if isinstance(each, TaskWrapper) and _registered_name(each) == name:
            return each
    return None


def _registered_name(wrapper: TaskWrapper) -> str:
    return f"{wrapper.task_class.__module__}.{wrapper.task_class.__name__}"


def _bind(wrapper: TaskWrapper, payload: Any) -> None:
    """Raise :class:`EnqueueRefused` unless the payload fits a task of Huey's own kind."""
    if wrapper.context and isinstance(payload, dict):
        if "task" in payload:
            message = gettext_noop('Huey itself gives the argument "task".')
            raise EnqueueRefused(Phrase(message), field="payload")
        payload = {**payload, "task": None}
    bind_payload(wrapper.func, payload)


def _refuse_priority(priority: float | None, field: str) -> None:
    if priority:
        message = gettext_noop(
            "The storage of this Huey knows no priorities; PriorityRedisHuey does."
        )
        raise EnqueueRefused(Phrase(message), field=field)


def _bound_waiting(huey: Huey) -> None:
    """See to it that a Redis that hangs does not hold this thread for ever.

    redis-py waits without end before version 8, unless the project has said how long.
    """
    kwargs = getattr(getattr(huey.storage, "pool", None), "connection_kwargs", None)
    if isinstance(kwargs, dict):
        kwargs.setdefault("socket_timeout", _SOCKET_SECONDS)


def _is_unsent(error: BaseException | None) -> bool:
    """Tell whether an error means that certainly nothing was sent."""
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorname in ("SQLITE_BUSY", "SQLITE_CANTOPEN")
    while error is not None:
        if isinstance(error, ConnectionRefusedError | socket.gaierror):
            # Unless it came of a second attempt, after the first one was lost on its way.
            return error.__context__ is None
        error = error.__cause__ or error.__context__
    return False
