"""Calling a task in this thread, sync or async, knowing its run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from asgiref.sync import async_to_sync

from .context import CurrentRun, running


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


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
