"""Procrastinate as the queue: in the database of the cron jobs, or in one of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import close_old_connections, connections
from django.utils.module_loading import import_string
from procrastinate import App
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job
from procrastinate.tasks import Task
from psycopg_pool import PoolTimeout

from ..context import CurrentRun
from ..core.definitions import Run
from ..core.exceptions import EnqueueNotSent, EnqueueRefused
from ..core.phrases import Phrase, gettext_noop
from ..core.text import one_line
from ..registry import bind_payload, import_task_module, is_allowed, is_task_module, resolve_task
from . import procrastinate_worker
from ._admin_pages import admin_page
from ._broker import BrokerTaskEnqueuer
from ._options import read_options, text, whole

_LONGEST_QUEUE = 128
_READERS = {
    "priority": whole(-(2**31), 2**31 - 1),
    "lock": text,
    "queueing_lock": text,
}


class ProcrastinateTaskEnqueuer(BrokerTaskEnqueuer[Job]):
    """Defers jobs, many in one statement.

    ``app`` is a Procrastinate app or its dotted path. With the app of
    ``procrastinate.contrib.django``, which is the default, jobs are rows of a database of Django's:
    if the cron jobs are in it too, a run is claimed and enqueued in one transaction.

    A task name is the name of a task of the app, or its dotted path; such a task gets the payload
    as it is. Or it is that of a background task, which a task of this package runs inside the
    worker. Raises :class:`ValueError` for an app that is not ready.
    """

    worker_module = "django_dyncron.enqueuers.procrastinate_worker"

    def __init__(self, app: str | App = "procrastinate.contrib.django.app") -> None:
        super().__init__()
        self._app: App = import_string(app) if isinstance(app, str) else app
        if not hasattr(self._app, "connector"):
            raise ValueError(
                "Procrastinate's app for Django is not ready: add 'procrastinate.contrib.django' "
                "to INSTALLED_APPS, or name an app of your own by the option 'app'."
            )
        procrastinate_worker.register(self._app)
        self._tells_runs = procrastinate_worker.tells_runs(self._app)
        # Background tasks always tell; the flag speaks of all tasks.
        self.reports_ends = self._tells_runs

    def prepare(
        self, task_name: str, payload: dict[str, Any], queue: str, run: Run | None = None
    ) -> Job:
        if len(queue) > _LONGEST_QUEUE:
            message = gettext_noop(
                "Procrastinate's names of queues have at most %(most)d characters."
            )
            raise EnqueueRefused(Phrase(message, {"most": _LONGEST_QUEUE}), field="queue")
        options = read_options("procrastinate", run.options if run else {}, _READERS)
        identity = CurrentRun.of(run) if run else None
        if task := self._task_called(task_name):
            bind_payload(task.func, payload, skip=1 if task.pass_context else 0)
            if identity and self._tells_runs and not task.lock:
                options = {"lock": procrastinate_worker.lock_of(identity), **options}
        else:
            bind_payload(resolve_task(task_name), payload)
            task = self._app.tasks[procrastinate_worker.GENERIC_TASK]
            told = identity and identity.as_json()
            payload = {"task_name": task_name, "payload": payload, "run": told}
        return task.configure(queue=queue, task_kwargs=payload, **options).job

    def check_options(self, options: Mapping[str, Any]) -> None:
        read_options("procrastinate", options, _READERS)

    def task_url(self, task_id: str, queue: str) -> str | None:
        if self.transaction_alias() is None:
            return None
        return admin_page("procrastinate_procrastinatejob_change", task_id)

    def transaction_alias(self) -> str | None:
        connector = self._app.connector
        return connector.alias if isinstance(connector, DjangoConnector) else None

    def enqueue_runs_now(self, runs: Sequence[Run]) -> list[str]:
        return self._defer(
            [self.prepare(run.task_name, run.payload, run.queue, run) for run in runs]
        )

    def send(self, messages: Sequence[Job]) -> Iterator[str | Exception]:
        # This thread's connection, which nobody else looks after.
        close_old_connections()
        try:
            self._connect()
            yield from self._defer_isolated(messages)
        finally:
            close_old_connections()

    def _task_called(self, name: str) -> Task[Any, Any, Any] | None:
        """Return the task of this name or dotted path, or ``None`` if the app has no such.

        A module is imported only if it is a ``tasks`` module of an installed app, or allowed by
        ``ALLOWED_TASKS``: importing is running it.
        """
        self._app.perform_import_paths()  # type: ignore[no-untyped-call]
        if name == procrastinate_worker.GENERIC_TASK:
            return None
        if task := self._app.tasks.get(name):
            return task
        module_name, _, attribute = name.rpartition(".")
        if not (is_task_module(module_name) or is_allowed(name)):
            return None
        target = getattr(import_task_module(module_name), attribute, None)
        is_ours = isinstance(target, Task) and self._app.tasks.get(target.name) is target
        return target if is_ours else None

    def _connect(self) -> None:
        """Connect; until then nothing was sent."""
        try:
            if alias := self.transaction_alias():
                connections[alias].ensure_connection()
            else:
                self._app.open()
        except Exception as error:
            # A pool that could not be opened has given up for good; the next one is a new one.
            self._app.close()
            raise EnqueueNotSent(one_line(error, with_type=True)) from error

    def _defer_isolated(self, jobs: Sequence[Job]) -> Iterator[str | Exception]:
        """Defer all jobs in one statement or, if a queueing lock refuses one, each in its own."""
        try:
            yield from self._defer(jobs)
        except EnqueueRefused as refusal:
            if len(jobs) == 1:
                yield refusal
                return
            for job in jobs:
                yield from self._defer_isolated([job])

    def _defer(self, jobs: Sequence[Job]) -> list[str]:
        try:
            deferred = self._app.job_manager.batch_defer_jobs(list(jobs))
        except AlreadyEnqueued as error:
            raise EnqueueRefused(one_line(error), field="options") from error
        except ConnectorException as error:
            if isinstance(error.__cause__, PoolTimeout):
                raise EnqueueNotSent(one_line(error.__cause__, with_type=True)) from error
            raise
        return [str(job.id) for job in deferred]
