"""``django.tasks`` as the queue: Django's own since 6.0, the ``django-tasks`` backport before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import router

from ..context import CurrentRun
from ..core.definitions import Run
from ..core.exceptions import EnqueueRefused, one_line
from ..core.ports import ITaskEnqueuer
from ..registry import bind_payload, import_task_module, is_allowed, is_task_module, resolve_task
from ._django_tasks_api import is_task_object, tasks_api


class DjangoTasksEnqueuer(ITaskEnqueuer):
    """Hands tasks to a backend of ``settings.TASKS``.

    A task name is either the dotted path of a task object (``@task``), which gets the payload as
    it is, or that of a background task, which a task of this package runs inside the worker and
    tells its run. The job's queue must be one of the backend's. ``backend`` is an alias; ``None``
    leaves task objects where they belong and sends background tasks to ``"default"``.

    Raises :class:`ValueError` for an alias that is not in ``TASKS``.
    """

    def __init__(self, backend: str | None = None) -> None:
        if backend is not None and backend not in tasks_api.task_backends.settings:
            known = ", ".join(sorted(tasks_api.task_backends.settings))
            raise ValueError(f"TASKS has no backend {backend!r}: choose one of {known}.")
        self._backend = backend

    @property
    def background_backend(self) -> Any:
        """The backend of ``TASKS`` that background tasks go to."""
        return tasks_api.task_backends[self._backend or "default"]

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        self._prepared(task_name, payload, queue)

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> str:
        prepare = sync_to_async(self._prepared)
        task, arguments = await prepare(task_name, payload, queue)
        return str((await task.aenqueue(**arguments)).id)

    async def enqueue_run(self, run: Run) -> str:
        # In the database thread: looking a task up may import its module, which may use the ORM.
        task, arguments = await sync_to_async(self._prepared_run)(run)
        return str((await task.aenqueue(**arguments)).id)

    def enqueue_runs_now(self, runs: Sequence[Run]) -> list[str]:
        prepared = [self._prepared_run(run) for run in runs]
        return [str(task.enqueue(**arguments).id) for task, arguments in prepared]

    def transaction_alias(self) -> str | None:
        """Return the database whose transactions an enqueue takes part in.

        ``None`` unless every backend this enqueuer may use keeps its tasks in that one database.
        """
        aliases = [self._backend] if self._backend else list(tasks_api.task_backends.settings)
        if not all(_is_in_database(tasks_api.task_backends[alias]) for alias in aliases):
            return None
        from django_tasks_db.models import DBTaskResult

        chosen: str = router.db_for_write(DBTaskResult)
        return chosen

    def _prepared_run(self, run: Run) -> tuple[Any, dict[str, Any]]:
        return self._prepared(
            run.task_name, run.payload, run.queue, CurrentRun.of(run), _priority(run.options)
        )

    def _prepared(
        self,
        task_name: str,
        payload: dict[str, Any],
        queue: str,
        run: CurrentRun | None = None,
        priority: int | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Return the task object, moved to its queue, and its arguments, all checked."""
        task = _task_object(task_name)
        if task is not None:
            bind_payload(task.func, payload, skip=1 if task.takes_context else 0)
            return self._placed(task, task.backend, queue, priority), payload
        bind_payload(resolve_task(task_name), payload)
        from .django_tasks_worker import run_background_task

        identity = run and run.as_json()
        arguments = {"task_name": task_name, "payload": payload, "run": identity}
        return self._placed(run_background_task, "default", queue, priority), arguments

    def _placed(self, task: Any, home: str, queue: str, priority: int | None) -> Any:
        alias = self._backend or home
        queues = tasks_api.task_backends[alias].queues
        if queues and queue not in queues:
            known = ", ".join(sorted(queues))
            raise EnqueueRefused(
                f"The backend {alias!r} of TASKS has no queue {queue!r}: use one of {known}.",
                field="queue",
            )
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


def _is_in_database(backend: object) -> bool:
    if not apps.is_installed("django_tasks_db"):
        return False
    from django_tasks_db.backend import DatabaseBackend

    return isinstance(backend, DatabaseBackend)


def _priority(options: Mapping[str, Any]) -> int | None:
    """Read the one option there is, ``priority`` (-100 to 100); the backend judges its value."""
    for name in options:
        if name != "priority":
            raise EnqueueRefused(
                f"django_tasks has no option {name!r}, only 'priority'.", field="options"
            )
    return options.get("priority")
