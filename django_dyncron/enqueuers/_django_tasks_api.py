"""The ``django.tasks`` there is: Django's own since 6.0, the ``django-tasks`` backport before."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import django

from ..context import CurrentRun

tasks_api: Any = import_module("django.tasks" if django.VERSION >= (6, 0) else "django_tasks")
signals: Any = import_module(f"{tasks_api.__name__}.signals")

RUN_KEY = "django_dyncron"
"""Where the row of a task names its run, beside the arguments."""


@dataclass(frozen=True, slots=True)
class Message:
    """A task object, moved to its queue and backend, with its arguments and whom it is for.

    ``backend`` is that of the thread this was made in: each thread has backend objects of its own.
    ``is_native`` if it is the project's own task, which is not told its run by an argument.
    """

    task: Any
    backend: Any
    arguments: dict[str, Any]
    run: CurrentRun | None
    is_native: bool

    def enqueue(self) -> str:
        """Hand the task to its backend; return the backend's id for it."""
        return str(self.backend.enqueue(self.task, (), self.arguments).id)


def is_task_object(target: object) -> bool:
    """Tell whether ``target`` was made by ``@task``; both kinds may be in use side by side."""
    modules = (sys.modules.get(name) for name in ("django.tasks.base", "django_tasks.base"))
    return isinstance(target, tuple(module.Task for module in modules if module is not None))
