"""``django.tasks`` as the queue: Django's own since 6.0, the ``django-tasks`` backport before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

from django.apps import apps
from django.db import close_old_connections, router

from ..context import CurrentRun
from ..core.definitions import Run
from ..core.exceptions import EnqueueNotSent, EnqueueRefused
from ..core.phrases import Phrase, gettext_noop
from ..core.text import one_line
from ..registry import bind_payload, import_task_module, is_allowed, is_task_module, resolve_task
from ._admin_pages import admin_page
from ._broker import BrokerTaskEnqueuer
from ._django_tasks_api import Message, is_task_object, tasks_api
from ._options import read_options, whole

_READERS = {"priority": whole(-100, 100)}
_PATIENCE = 1.0
"""Seconds after which an error is taken for that of a backend that is away."""


class DjangoTasksEnqueuer(BrokerTaskEnqueuer[Message]):
    """Hands tasks to a backend of ``settings.TASKS``.

    A task name is either the dotted path of a task object (``@task``), which gets the payload as
    it is, or that of a background task, which a task of this package runs inside the worker and
    tells its run. The job's queue must be one of the backend's. ``backend`` is an alias; ``None``
    leaves task objects where they belong and sends background tasks to ``"default"``.

    Raises :class:`ValueError` for an alias that is not in ``TASKS``.
    """

    worker_module = "django_dyncron.enqueuers.django_tasks_worker"
    hook_module = "django_dyncron.enqueuers.django_tasks_signals"

    def __init__(self, backend: str | None = None) -> None:
        super().__init__()
        if backend is not None and backend not in tasks_api.task_backends.settings:
            known = ", ".join(sorted(tasks_api.task_backends.settings))
            raise ValueError(f"TASKS has no backend {backend!r}: choose one of {known}.")
        self._backend = backend
        # Background tasks always tell; the flags speak of all tasks, of all backends in reach.
        takes_rows = all(map(_takes_rows, self._backends()))
        self.sends_batches = self.reports_ends = self.refuses_repeated_ids = takes_rows

    @property
    def lacks_workers(self) -> str:
        kind = type(tasks_api.task_backends[self._backend or "default"]).__name__
        return f"{kind} of TASKS" if kind in ("ImmediateBackend", "DummyBackend") else ""

    def prepare(
        self, task_name: str, payload: dict[str, Any], queue: str, run: Run | None = None
    ) -> Message:
        options = read_options("django_tasks", run.options if run else {}, _READERS)
        identity = CurrentRun.of(run) if run else None
        native_task = _task_object(task_name)
        if native_task is not None:
            bind_payload(native_task.func, payload, skip=1 if native_task.takes_context else 0)
            task = self._placed(native_task, native_task.backend, queue, **options)
        else:
            bind_payload(resolve_task(task_name), payload)
            from .django_tasks_worker import run_background_task

            task = self._placed(run_background_task, "default", queue, **options)
            told = identity and identity.as_json()
            payload = {"task_name": task_name, "payload": payload, "run": told}
        return Message(task, task.get_backend(), payload, identity, native_task is not None)

    def check_options(self, options: Mapping[str, Any]) -> None:
        read_options("django_tasks", options, _READERS)
        if options.get("priority") and not any(each.supports_priority for each in self._backends()):
            message = gettext_noop("No backend of TASKS knows priorities.")
            raise EnqueueRefused(Phrase(message), field="options")

    def enqueue_runs_now(self, runs: Sequence[Run]) -> list[str]:
        messages = [self.prepare(run.task_name, run.payload, run.queue, run) for run in runs]
        if _are_rows(messages):
            return _add_rows(messages)
        return [message.enqueue() for message in messages]

    def send(self, messages: Sequence[Message]) -> Iterator[str | Exception]:
        # This thread's connections, which nobody else looks after.
        close_old_connections()
        try:
            if _are_rows(messages):
                _connect()
                yield from _add_rows(messages)
            else:
                yield from _enqueue_isolated(messages)
        finally:
            close_old_connections()

    def task_url(self, task_id: str, queue: str) -> str | None:
        if not all(map(_is_in_database, self._backends())):
            return None
        return admin_page("django_tasks_database_dbtaskresult_change", task_id)

    def transaction_alias(self) -> str | None:
        """Return the database whose transactions an enqueue takes part in.

        ``None`` unless every backend this enqueuer may use keeps its tasks in that one database.
        """
        if not all(map(_is_in_database, self._backends())):
            return None
        from django_tasks_db.models import DBTaskResult

        chosen: str = router.db_for_write(DBTaskResult)
        return chosen

    def _backends(self) -> list[Any]:
        """Return the backends that a task may go to."""
        aliases = [self._backend] if self._backend else tasks_api.task_backends.settings
        return [tasks_api.task_backends[alias] for alias in aliases]

    def _placed(self, task: Any, home: str, queue: str, priority: int | None = None) -> Any:
        """Return the task object moved to its backend and queue, with its priority."""
        alias = self._backend or home
        queues = tasks_api.task_backends[alias].queues
        if queues and queue not in queues:
            message = gettext_noop(
                "The backend %(backend)r of TASKS has no queue %(queue)r: use one of %(known)s."
            )
            values = {"backend": alias, "queue": queue, "known": ", ".join(sorted(queues))}
            raise EnqueueRefused(Phrase(message, values), field="queue")
        try:
            return task.using(queue_name=queue, backend=alias, priority=priority)
        except Exception as error:
            # Each flavour of django.tasks has exceptions of its own; making a task only validates.
            field = "task_name" if priority is None else "options"
            raise EnqueueRefused(one_line(error), field=field) from error


def _task_object(name: str) -> Any:
    """Return the task object of this dotted path, or ``None`` if there is no such.

    Looked for only in ``tasks`` modules of installed apps and where ``ALLOWED_TASKS`` allows:
    importing a module is running it.
    """
    module_name, _, attribute = name.rpartition(".")
    if not (is_task_module(module_name) or is_allowed(name)):
        return None
    target = getattr(import_task_module(module_name), attribute, None)
    return target if is_task_object(target) else None


def _enqueue_isolated(messages: Sequence[Message]) -> Iterator[str | Exception]:
    """Enqueue one by one, the way of any backend, until it seems to be away."""
    for message in messages:
        began_at = monotonic()
        try:
            answer: str | Exception = message.enqueue()
        except Exception as error:
            answer = error
        yield answer
        if isinstance(answer, Exception) and monotonic() - began_at > _PATIENCE:
            raise EnqueueNotSent(f"Not tried, after {one_line(answer, with_type=True)}")


def _is_in_database(backend: object) -> bool:
    if not apps.is_installed("django_tasks_db"):
        return False
    from django_tasks_db.backend import DatabaseBackend

    return isinstance(backend, DatabaseBackend)


def _takes_rows(backend: object) -> bool:
    if not apps.is_installed("django_tasks_db"):
        return False
    from ._django_tasks_rows import takes_rows

    return takes_rows(backend)


def _are_rows(messages: Sequence[Message]) -> bool:
    backends = {message.backend for message in messages}
    return all(map(_takes_rows, backends)) and all(message.run for message in messages)


def _add_rows(messages: Sequence[Message]) -> list[str]:
    from ._django_tasks_rows import add_rows

    return add_rows(messages)


def _connect() -> None:
    """Connect to the database of the rows; until then nothing was sent."""
    from ._django_tasks_rows import connect

    try:
        connect()
    except Exception as error:
        raise EnqueueNotSent(one_line(error, with_type=True)) from error
