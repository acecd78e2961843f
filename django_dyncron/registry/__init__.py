"""What may be run by name: registered tasks, jobs declared in code, and the allowed-task rule.

Importing this does not import Django.
"""

from __future__ import annotations

from .arguments import bind_payload
from .jobs import DeclaredJob, cron_job, declared_jobs
from .lookup import import_task_module, is_allowed, is_task_module, resolve_task
from .tasks import RegisteredTask, background_task, discover_tasks, registered_tasks

__all__ = [
    "DeclaredJob",
    "RegisteredTask",
    "background_task",
    "bind_payload",
    "cron_job",
    "declared_jobs",
    "discover_tasks",
    "import_task_module",
    "is_allowed",
    "is_task_module",
    "registered_tasks",
    "resolve_task",
]
