"""The ``django.tasks`` there is: Django's own since 6.0, the ``django-tasks`` backport before."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import django

tasks_api: Any = import_module("django.tasks" if django.VERSION >= (6, 0) else "django_tasks")


def is_task_object(target: object) -> bool:
    """Tell whether ``target`` was made by ``@task``; both kinds may be in use side by side."""
    modules = (sys.modules.get(name) for name in ("django.tasks.base", "django_tasks.base"))
    return isinstance(target, tuple(module.Task for module in modules if module is not None))
