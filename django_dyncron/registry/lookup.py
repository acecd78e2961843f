"""From a name to what it may run: the allowed-task rule.

The rows of the job table name code to run, so whoever can write a row must not thereby be able to
run anything. A name leads to a function only if that function was registered, or if its own module
and name match one of the patterns in ``DYNCRON["ALLOWED_TASKS"]``.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType, ModuleType

from ..core.exceptions import EnqueueRefused
from ..core.phrases import Phrase, gettext_noop, sentences
from ..spelling import did_you_mean
from .tasks import TaskFunction, registered_tasks


def resolve_task(name: str) -> TaskFunction:
    """Return the function that ``name`` may run, or raise :class:`EnqueueRefused` saying why not.

    Registered tasks always may. Any other function must have an own module and name that match a
    pattern of ``ALLOWED_TASKS``; only then is its module imported. What a module merely imported is
    not its own.
    """
    if not isinstance(name, str):
        raise _refused(gettext_noop("%(name)s is not the name of a task."), name=repr(name))
    if task := registered_tasks().get(name):
        return task.function
    if not is_allowed(name):
        hint = did_you_mean(name, registered_tasks())
        raise _refused(
            gettext_noop("%(name)r is not a registered task, nor allowed by ALLOWED_TASKS."),
            hint,
            name=name,
        )
    function = _find_function(name)
    own_name = f"{function.__module__}.{function.__qualname__}"
    if not is_allowed(own_name):
        raise _refused(
            gettext_noop("%(name)r is %(own_name)r, which ALLOWED_TASKS does not allow."),
            name=name,
            own_name=own_name,
        )
    return function


def is_allowed(name: str) -> bool:
    """Tell whether a dotted name matches a pattern of ``ALLOWED_TASKS``.

    A ``*`` in a pattern stands for exactly one dotted segment.
    """
    from ..conf import get_settings

    segments = name.split(".")
    for pattern in get_settings().allowed_tasks:
        wanted = pattern.split(".")
        if len(wanted) == len(segments) >= 2 and all(
            want in ("*", segment) for want, segment in zip(wanted, segments, strict=True)
        ):
            return True
    return False


def is_task_module(module_name: str) -> bool:
    """Tell whether a module is, or is inside, the ``tasks`` module of an installed app."""
    from django.apps import apps

    return any(
        f"{module_name}.".startswith(f"{config.name}.tasks.") for config in apps.get_app_configs()
    )


def import_task_module(name: str) -> ModuleType:
    """Import a module that a task's name leads to; raise :class:`EnqueueRefused` if that fails.

    Importing runs the module, so ask :func:`is_allowed` or :func:`is_task_module` first.
    """
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # a script may exit when it is imported
        raise _refused(
            gettext_noop("%(name)r cannot be imported: %(error)s"),
            name=name,
            error=f"{type(error).__name__}: {error}",
        ) from error


def _find_function(name: str) -> FunctionType:
    module_name, _, attribute = name.rpartition(".")
    module = import_task_module(module_name)
    target = getattr(module, attribute, None)
    if target is None:
        hint = did_you_mean(attribute, dir(module))
        raise _refused(
            gettext_noop("%(module)r has no %(name)r."), hint, module=module_name, name=attribute
        )
    if not isinstance(target, FunctionType):
        raise _refused(gettext_noop("%(name)r is not a plain function."), name=name)
    return target


def _refused(text: str, hint: str = "", **values: str) -> EnqueueRefused:
    return EnqueueRefused(sentences(Phrase(text, values), hint))
