"""Calling a task in this thread: sync or async, by function or by name, knowing its run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from asgiref.sync import async_to_sync

from .context import CurrentRun, running
from .registry import resolve_task


def call_task(
    function: Callable[..., Any], payload: Mapping[str, Any], run: CurrentRun | None
) -> Any:
    """Call ``function`` with ``payload`` as keyword arguments; return what it returns.

    A coroutine is waited for, its blocking parts staying in this thread. There must be no event
    loop running in this thread.
    """
    with running(run):
        result = function(**payload)
        return async_to_sync(_awaited)(result) if inspect.isawaitable(result) else result


def call_by_name(task_name: str, payload: Mapping[str, Any], run: Mapping[str, Any] | None) -> None:
    """Call the task ``task_name``: what the generic task of each queue does in its worker.

    ``run`` is a :meth:`CurrentRun.as_json`. What the task returns is dropped, since it may be
    nothing a queue can store. Raises :class:`EnqueueRefused` if the worker may not run it.
    """
    function = resolve_task(task_name)
    call_task(function, payload, CurrentRun.from_json(run) if run else None)


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
