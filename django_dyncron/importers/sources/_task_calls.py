"""How a job calls a task from elsewhere: by which arguments, on which queue, with which options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...conf import get_settings, load_enqueuer
from ...core.exceptions import EnqueueRefused
from ...core.text import one_line
from ...registry import resolve_task
from ..entries import CannotImport

_BY_PLACE = inspect.Parameter.POSITIONAL_ONLY
_BY_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def named_arguments(
    task_name: str, args: Sequence[Any], kwargs: Mapping[str, Any], enqueuer: str
) -> dict[str, Any]:
    """Return all arguments by name, as the signature of the task has them.

    Raises :class:`CannotImport` if there are some by place, and the task is not known here or has
    no names for them.
    """
    if not args:
        return dict(kwargs)
    function = _function(task_name, enqueuer)
    if function is None:
        raise CannotImport(
            "It has arguments by place, and a payload holds arguments by name, which are not "
            f"known: there is no task {task_name!r} here to ask."
        )
    parameters = list(inspect.signature(function).parameters.values())
    names = [each.name for each in parameters if each.kind == _BY_EITHER]
    if any(each.kind == _BY_PLACE for each in parameters) or len(names) < len(args):
        raise CannotImport(
            f"It has arguments by place, {len(args)} in number, for which {task_name!r} has not "
            "as many names."
        )
    by_name = dict(zip(names, args, strict=False))
    if twice := sorted(by_name.keys() & kwargs.keys()):
        raise CannotImport(f"It has the argument {twice[0]!r} twice, by place and by name.")
    return by_name | dict(kwargs)


def usual_queue(task_name: str, enqueuer: str) -> str:
    """Return the queue for a task that has named none: the one that Celery would have chosen."""
    with suppress(Exception):  # an enqueuer may be anybody's code, and whoever checks the job tells
        found = load_enqueuer(enqueuer, get_settings())
        if ask := getattr(found, "usual_queue", None):
            return str(ask(task_name))
    return "default"


def fitting_options(
    options: Mapping[str, Any], enqueuer: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return those of ``options`` that the queue system takes, and a note on each that it refuses.

    If the queue system cannot be asked, all are returned: whoever checks the job will say why.
    """
    kept: dict[str, Any] = {}
    notes = []
    for name, value in options.items():
        try:
            load_enqueuer(enqueuer, get_settings()).check_options({name: value})
        except EnqueueRefused as refusal:
            notes.append(f"Its option {name!r} is dropped: {one_line(refusal)}")
            continue
        except Exception:  # an enqueuer may be anybody's code
            return dict(options), ()
        kept[name] = value
    return kept, tuple(notes)


def _function(task_name: str, enqueuer: str) -> Callable[..., Any] | None:
    with suppress(EnqueueRefused):
        return resolve_task(task_name)
    with suppress(Exception):  # the refusal of an empty payload, or anybody's code
        # It imports the modules that may have a task of this name, as far as that is allowed.
        load_enqueuer(enqueuer, get_settings()).check_task(task_name, {}, "default")
    return _function_of_celery(task_name)


def _function_of_celery(task_name: str) -> Callable[..., Any] | None:
    try:
        from celery.app import app_or_default
    except ImportError:
        return None
    task = app_or_default().tasks.get(task_name)
    return None if task is None else task.run
