from __future__ import annotations

from typing import Any

from django_dyncron.enqueuers._django_tasks_api import tasks_api

calls: list[Any] = []


@tasks_api.task
def pack(box: str, count: int = 1) -> str:
    calls.append((box, count))
    return box


@tasks_api.task(takes_context=True)
def ship(context: Any, box: str) -> str:
    calls.append((box, context.attempt))
    return box


@tasks_api.task
async def weigh(box: str) -> None:
    calls.append(box)


def not_a_task(box: str) -> None:
    calls.append(box)
