"""Celery as the queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

from celery import Celery, Task
from celery.app import app_or_default
from celery.app.task import Context
from django.utils.http import urlencode
from django.utils.module_loading import import_string

from ..context import CurrentRun
from ..core.definitions import Run
from ..core.exceptions import EnqueueRefused
from ..core.phrases import Phrase, gettext_noop
from ..registry import (
    bind_payload,
    import_task_module,
    is_allowed,
    is_task_module,
    registered_tasks,
    resolve_task,
)
from . import celery_worker
from ._admin_pages import admin_page
from ._broker import BrokerTaskEnqueuer
from ._celery_sending import Message, send_messages
from ._options import read_options, seconds, text, texts, whole, yes_or_no

_PLACES = ("queue", "exchange", "routing_key")
"""Where a task may say itself that it belongs."""
_LONGEST_REPR = 1024


class CeleryTaskEnqueuer(BrokerTaskEnqueuer[Message]):
    """Hands tasks to a Celery app.

    A task name is that of a registered task, or the dotted path of one, which gets the payload as
    it is; or the dotted path of a background task, which a task of this package runs in the
    worker; or a name that ``ALLOWED_TASKS`` allows of a task whose package is not installed here.
    The job's queue is a Celery queue; ``"default"`` leaves the choice to Celery, unless there is a
    queue of that name. The id of a run is the id of its Celery task.

    ``app`` is the dotted path of the app; by default the current one, which the project's package
    imports. Raises :class:`ValueError` if there is no such app.
    """

    worker_module = celery_worker.__name__

    def __init__(self, app: str | None = None) -> None:
        super().__init__()
        self._app = _current_app() if app is None else _app_at(app)

    def check_options(self, options: Mapping[str, Any]) -> None:
        _read(options)

    def task_url(self, task_id: str, queue: str) -> str | None:
        # Of django-celery-results, whose rows have ids of their own.
        results = admin_page("django_celery_results_taskresult_changelist")
        return results and f"{results}?{urlencode({'task_id': task_id})}"

    def usual_queue(self, task_name: str) -> str:
        """Return the queue of a job for Celery to send the task where it would by itself.

        That is ``"default"``, unless there is a queue of that name and another is chosen.
        """
        if self._home != "default":
            return "default"
        task = self._find_task(task_name)
        name: str | None = getattr(task, "queue", None)
        if not name:
            route = self._app.amqp.router.route({}, task.name if task else task_name)
            name = getattr(route.get("queue"), "name", None)
        return name or "default"

    def prepare(
        self, task_name: str, payload: dict[str, Any], queue: str, run: Run | None = None
    ) -> Message:
        options = _read(run.options) if run else {}
        options["task_id"] = str(run.run_id if run else uuid4())
        # As logs and monitors show them. Celery would take much longer over it.
        options |= {"argsrepr": "()", "kwargsrepr": repr(payload)[:_LONGEST_REPR]}
        identity = CurrentRun.of(run).as_json() if run else None
        if identity:
            options["headers"] = {**options.get("headers", {}), celery_worker.HEADER: identity}
        if task := self._find_task(task_name):
            bind_payload(task.run if task.typing else _anything, payload)
        elif self._is_elsewhere(task_name):
            bind_payload(_anything, payload)
        else:
            bind_payload(resolve_task(task_name), payload)
            payload = {"task_name": task_name, "payload": payload, "run": identity}
            task = self._app.tasks[celery_worker.TASK_NAME]
            options["shadow"] = task_name  # the name that people know
        options |= self._place(queue, task)
        if task is None:
            send = partial(self._app.send_task, task_name)
            return Message(send, payload, options, options.get("ignore_result"))
        ignores_result = options.get("ignore_result", task.ignore_result)
        return Message(task.apply_async, payload, options, ignores_result)

    def send(self, messages: Sequence[Message]) -> Iterator[str | Exception]:
        return send_messages(self._app, messages)

    def _find_task(self, name: str) -> Task | None:
        """Return the task of the app that has this name or this dotted path, if there is one."""
        _refuse_internal(name)
        task = self._look_up(name)
        if task is not None:
            _refuse_internal(task.name)
        return task

    def _look_up(self, name: str) -> Task | None:
        if task := self._app.tasks.get(name):
            return task
        if name in registered_tasks():
            return None
        module_name, _, attribute = name.rpartition(".")
        if is_task_module(module_name) or (is_allowed(name) and not _is_missing(name)):
            target = getattr(import_task_module(module_name), attribute, None)
            if isinstance(target, Task):
                return self._app.tasks.get(target.name)
        # Workers import these when they start; in any other process Celery leaves it to us.
        for module in self._app.loader.default_modules:
            import_task_module(module)
        return self._app.tasks.get(name)

    def _is_elsewhere(self, name: str) -> bool:
        return _is_missing(name) and is_allowed(name) and not self._app.conf.task_always_eager

    def _place(self, queue: str, task: Task | None) -> dict[str, Any]:
        if queue == "default" and self._home != "default":
            if self._home is None or any(getattr(task, name, None) for name in _PLACES):
                return {}
            queue = self._home
        try:
            return {"queue": self._app.amqp.queues[queue]}
        except KeyError:
            known = ", ".join(sorted(_queue_names(self._app)))
            message = gettext_noop("Celery has no queue %(queue)r: use one of %(known)s.")
            values = {"queue": queue, "known": known}
            raise EnqueueRefused(Phrase(message, values), field="queue") from None

    @cached_property
    def _home(self) -> str | None:
        """The Celery queue that ``"default"`` means; ``None`` if that depends on the task."""
        if "default" in _queue_names(self._app):
            return "default"
        return None if self._app.conf.task_routes else self._app.conf.task_default_queue


def _app_at(path: str) -> Celery:
    try:
        app = import_string(path.replace(":", "."))
    except ImportError as error:
        raise ValueError(f"{path!r} cannot be imported: {error}") from error
    if not isinstance(app, Celery):
        raise ValueError(f"{path!r} is no Celery app.")
    return app


def _current_app() -> Celery:
    app: Celery = app_or_default()
    if not app.set_as_current and app.main == "default":
        # What Celery makes up when there is none; it would look for RabbitMQ on this machine.
        raise ValueError("There is no Celery app: import it in the project's package, or set app.")
    return app


def _queue_names(app: Celery) -> set[str]:
    """Return the names of the queues in the settings, without those Celery made up since."""
    queues = app.conf.task_queues or {}
    names = queues if isinstance(queues, Mapping) else (queue.name for queue in queues)
    return set(names) or {app.conf.task_default_queue}


def _refuse_internal(name: str) -> None:
    """Refuse the tasks whose payload names other tasks: a job would send any, to any queue."""
    if name == celery_worker.TASK_NAME:
        message = gettext_noop("%(name)r runs other tasks: use the name of one of them.")
        raise EnqueueRefused(Phrase(message, {"name": name}))
    if name.startswith("celery."):  # group, chord, map ...: all of them, also of later versions
        message = gettext_noop("%(name)r is a task of Celery's own: call it from one of yours.")
        raise EnqueueRefused(Phrase(message, {"name": name}))


def _is_missing(name: str) -> bool:
    """Tell whether the package of a dotted name is not installed here; nothing is imported."""
    try:
        return find_spec(name.partition(".")[0]) is None
    except ValueError:  # of a blank name, or that of a script
        return False


def _anything(**payload: Any) -> None:
    """Take what the signature of a task that is not typed, or not here, cannot tell."""


def _headers(value: Any) -> dict[str, str]:
    """Read headers, but none that Celery itself reads: one could even name another task."""
    headers = texts(value)
    for name in headers:
        if name in _OWN_HEADERS or hasattr(Context, name):
            message = gettext_noop("an object of texts without %(name)r, which Celery itself uses")
            raise ValueError(Phrase(message, {"name": name}))
    return headers


_OWN_HEADERS = {"argsrepr", "compression", "kwargsrepr", "lang", "task", celery_worker.HEADER}
_READERS = {
    "priority": whole(0, 255),
    "expires": seconds,
    "time_limit": seconds,
    "soft_time_limit": seconds,
    "ignore_result": yes_or_no,
    "routing_key": text,
    "headers": _headers,
}


def _read(options: Mapping[str, Any]) -> dict[str, Any]:
    read = read_options("Celery", options, _READERS)
    if read.get("soft_time_limit", 0) > read.get("time_limit", float("inf")):
        message = gettext_noop("The option 'soft_time_limit' must not be above 'time_limit'.")
        raise EnqueueRefused(Phrase(message), field="options")
    return read
