"""The task by which a ``django.tasks`` worker runs background tasks.

Stored queue rows hold its dotted path, so it keeps its place and its parameters. It stands apart
from the enqueuer because making a task object reads ``settings.TASKS``.
"""

from __future__ import annotations

from typing import Any

from .. import worker
from . import django_tasks_signals  # noqa: F401 - for tasks of the project's own kind
from ._django_tasks_api import tasks_api


def _any_valid_place() -> dict[str, str]:
    """Return a backend and a queue that exist: a task object must be valid before it is moved."""
    backends = tasks_api.task_backends
    alias = "default" if "default" in backends.settings else min(backends.settings)
    queues = backends[alias].queues
    return {"backend": alias, "queue_name": "default" if not queues else min(queues)}


@tasks_api.task(**_any_valid_place())  # type: ignore[untyped-decorator]
def run_background_task(
    task_name: str, payload: dict[str, Any], run: dict[str, Any] | None = None
) -> None:
    """Run the background task ``task_name`` with ``payload``, as the run described by ``run``."""
    worker.run_background_task(task_name, payload, run)
