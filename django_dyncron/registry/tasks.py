"""Registered tasks: functions that may be run by their dotted name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, MappingProxyType
from typing import Any, TypeVar, overload

TaskFunction = Callable[..., Any]
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class RegisteredTask:
    """A function that may be run by its dotted name; ``queue`` is a suggestion for new jobs."""

    name: str
    function: TaskFunction
    queue: str


_tasks: dict[str, RegisteredTask] = {}


@overload
def background_task(target: _F, /) -> _F: ...
@overload
def background_task(*, queue: str = "default") -> Callable[[_F], _F]: ...


def background_task(
    target: _F | None = None, /, *, queue: str = "default"
) -> _F | Callable[[_F], _F]:
    """Register a module-level function, sync or async, as callable by its dotted name.

    The function itself stays as it is. ``queue`` is what a form suggests; the job's own queue is
    what counts. Registering a name again replaces it, as reloading a module does. Raises
    :class:`TypeError` for a lambda, a nested function, a method or anything else no other process
    could find by name.
    """

    def register(function: _F) -> _F:
        name = importable_name(function)
        _tasks[name] = RegisteredTask(name, function, queue)
        return function

    return register if target is None else register(target)


def registered_tasks() -> Mapping[str, RegisteredTask]:
    """Return every registered task by its dotted name, in order of registration."""
    return MappingProxyType(_tasks)


def discover_tasks() -> None:
    """Import the ``tasks`` module of each installed app, so that what they register is known.

    Called once from ``AppConfig.ready()``: the web process that validates a form, the scheduler and
    the worker then know the same tasks, whoever was asked first, and a broken module is
    noticed when the process starts. An error inside such a module goes on to the caller.
    """
    from importlib import import_module

    from django.apps import apps
    from django.utils.module_loading import module_has_submodule

    for config in apps.get_app_configs():
        # Our own is for the workers of queues, which may not be set up yet.
        if config.name != "django_dyncron" and module_has_submodule(config.module, "tasks"):
            import_module(f"{config.name}.tasks")


def importable_name(target: object) -> str:
    """Return the dotted name of a module-level function; raise :class:`TypeError` for all else."""
    if not isinstance(target, FunctionType):
        raise TypeError(
            f"{target!r} is not a plain function; a background task is a function at the top of a "
            "module."
        )
    if not target.__qualname__.isidentifier():
        raise TypeError(
            f"{target.__module__}.{target.__qualname__} is not at the top of its module; a worker "
            "could not find it by name. Move it there and give it a name."
        )
    return f"{target.__module__}.{target.__qualname__}"
