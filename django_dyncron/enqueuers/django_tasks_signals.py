"""Tells of runs that are task objects of the project's own, by the signals of their worker.

To be imported wherever tasks are worked on. Only rows of ``django-tasks-db`` name their run.
"""

from __future__ import annotations

import sys
from typing import Any

from .. import worker
from ..context import CurrentRun
from ._django_tasks_api import RUN_KEY, signals

_begun: dict[str, worker.Work] = {}


def _begin(*, task_result: Any, **_others: Any) -> None:
    row = getattr(task_result, "db_result", None)
    if row is None or RUN_KEY not in row.args_kwargs:
        return
    run = CurrentRun.from_json(row.args_kwargs[RUN_KEY])
    work = _begun[task_result.id] = worker.Work(run, task_result.id)
    # In the thread that is about to call the task.
    work.begin()


def _end(*, task_result: Any, **_others: Any) -> None:
    work = _begun.pop(task_result.id, None)
    if work is None:
        return
    has_failed = str(task_result.status) == "FAILED"
    # The signal is sent while the exception is handled. The stored one is but a traceback.
    work.end(worker.error_text(sys.exc_info()[1]) or "It failed." if has_failed else "")


signals.task_started.connect(_begin)
signals.task_finished.connect(_end)
