"""Tasks as rows of ``django-tasks-db``, many in one statement.

Its backend enqueues one task at a time, and there is no other call, so the rows are made here as
the backend makes them: only while it makes them as it did when this was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connections, router, transaction
from django.db.models import Model
from django.db.models.signals import post_save, pre_save
from django_tasks_db.backend import DatabaseBackend, TaskResult
from django_tasks_db.compat import normalize_json, task_enqueued
from django_tasks_db.models import DBTaskResult

from ._django_tasks_api import RUN_KEY, Message

_COLUMNS = {
    *("id", "status", "enqueued_at", "started_at", "finished_at", "args_kwargs", "priority"),
    *("task_path", "worker_ids", "queue_name", "backend_name", "run_after", "return_value"),
    *("exception_class_path", "traceback"),
}
_ENQUEUES_BY = {"validate_task", "_task_to_db_task", "task_enqueued", "send", "type", "task_result"}
_MAKES_ROWS_BY = {
    *("models", "DBTaskResult", "objects", "create", "_get_id", "normalize_json", "priority"),
    *("module_path", "queue_name", "run_after", "alias"),
}


def takes_rows(backend: object) -> bool:
    """Tell whether ``backend`` does no more, for a task, than to add the row that is made here.

    A later release may do more, such as waking its workers, a subclass or a receiver of a signal
    too, and a project may want ids of its own kind: then the backend's way is the only right one.
    """
    return (
        type(backend) is DatabaseBackend
        and _does_just("enqueue", _ENQUEUES_BY)
        and _does_just("_task_to_db_task", _MAKES_ROWS_BY)
        and DBTaskResult.save is Model.save
        and {field.name for field in DBTaskResult._meta.concrete_fields} == _COLUMNS
        and hasattr(TaskResult, "db_result")
        and not backend.options.get("id_function")
        and not post_save.has_listeners(DBTaskResult)
    )


def connect() -> None:
    """Open this thread's connection to the database of the rows, if it is not open."""
    connections[router.db_for_write(DBTaskResult)].ensure_connection()


def add_rows(messages: Sequence[Message]) -> list[str]:
    """Add the rows of runs, but for those that are there, all or none; return their ids.

    A row has the id of its run, so a run that is handed over again is still one row.
    """
    using = router.db_for_write(DBTaskResult)
    made = [_row(message, using) for message in messages]
    rows = {row.id: row for row in made}
    with transaction.atomic(using=using):
        known = DBTaskResult.objects.using(using).only("id").in_bulk(list(rows))
        added = [row for row_id, row in rows.items() if row_id not in known]
        DBTaskResult.objects.using(using).bulk_create(added)
        for row in added:
            task_enqueued.send(DatabaseBackend, task_result=row.task_result)
    return [str(row.id) for row in made]


def _row(message: Message, using: str) -> DBTaskResult[Any, Any]:
    assert message.run is not None
    task = message.task
    stored: dict[str, Any] = {"args": [], "kwargs": message.arguments}
    if message.is_native:
        stored[RUN_KEY] = message.run.as_json()
    row: DBTaskResult[Any, Any] = DBTaskResult(
        id=message.run.run_id,
        args_kwargs=normalize_json(stored),
        priority=task.priority,
        task_path=task.module_path,
        queue_name=task.queue_name,
        run_after=task.run_after,
        backend_name=task.backend,
    )
    # Fills in what is not said: the package's own receiver, for one, when to run at the earliest.
    pre_save.send(DBTaskResult, instance=row, raw=False, using=using, update_fields=None)
    return row


def _does_just(method: str, names: set[str]) -> bool:
    """Tell whether a method of the backend refers to these names, neither more nor fewer."""
    code = getattr(getattr(DatabaseBackend, method, None), "__code__", None)
    return code is not None and set(code.co_names) == names
