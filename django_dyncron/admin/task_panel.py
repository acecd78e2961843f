"""The panel beside a task: what it takes, and a payload to begin with."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

from django.template.loader import render_to_string
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from ..conf import get_settings, load_enqueuer
from ..core.exceptions import EnqueueRefused
from ..describe import error_text
from ..models import CronJob
from ..registry import registered_tasks, resolve_task

_LONGEST_TEXT = 500
_PLACEHOLDERS: dict[str, Any] = {
    "str": "",
    "int": 0,
    "float": 0.0,
    "bool": False,
    "list": [],
    "dict": {},
}


class _Verbatim:
    """An annotation as it was written; the source of a postponed one would be shown in quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def task_panel(job: CronJob) -> str:
    """Render the panel for the task of ``job`` as it stands in memory, saved or not."""
    context = _told(job) if job.task_name else {}
    return render_to_string("django_dyncron/task_panel.html", context)


def _told(job: CronJob) -> dict[str, str]:
    try:
        function = resolve_task(job.task_name)
    except EnqueueRefused as refusal:
        return _told_by_its_queue(job, refusal)
    task = registered_tasks().get(job.task_name)
    documentation = (inspect.getdoc(function) or "").partition("\n\n")[0]
    return {
        "signature": _shortened(_signature_text(function)),
        "summary": _shortened(" ".join(documentation.split())),
        "skeleton": _payload_skeleton(function),
        "queue": task.queue if task is not None and task.queue != "default" else "",
    }


def _told_by_its_queue(job: CronJob, refusal: EnqueueRefused) -> dict[str, str]:
    """Ask the queue system for a task of its own: with no payload at all, it says what it wants."""
    try:
        enqueuer = load_enqueuer(job.enqueuer, get_settings())
        enqueuer.check_task(job.task_name, {}, job.queue)
    except EnqueueRefused as error:
        if error.field == "task_name":
            return {"error": error_text(error)}
        is_of_payload = error.field == "payload"
        note = error_text(error) if is_of_payload else _("The queue system has this task.")
        return {"note": _shortened(note)}
    except Exception:  # an enqueuer may be anybody's code, and a check of the form tells of it
        return {"error": error_text(refusal)}
    return {"note": _("It requires no payload.")}


def _signature_text(function: Callable[..., Any]) -> str:
    """Return ``build_report(day: str, *, full: bool = False)``."""
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=_Verbatim(each.annotation))
        if isinstance(each.annotation, str)
        else each
        for each in signature.parameters.values()
    ]
    return f"{function.__name__}{inspect.Signature(parameters)}"


def _payload_skeleton(function: Callable[..., Any]) -> str:
    """Return a JSON object with what the function requires, blank; empty if that is nothing."""
    required = {
        each.name: _placeholder(each.annotation)
        for each in inspect.signature(function).parameters.values()
        if each.default is each.empty
        and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }
    return json.dumps(required, ensure_ascii=False) if required else ""


def _placeholder(annotation: Any) -> Any:
    """Return a blank value of the type, or ``None``; a postponed annotation is not evaluated."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    found = re.match(r"[\w.]*", text)
    name = found.group().rpartition(".")[2] if found else ""
    return _PLACEHOLDERS.get(name.lower())


def _shortened(text: str) -> str:
    return Truncator(text).chars(_LONGEST_TEXT)
