"""Task objects of ``django.tasks``."""

from __future__ import annotations

from typing import Any

from django_dyncron import runs_once
from django_dyncron.enqueuers._django_tasks_api import tasks_api
from tests.engines.tasks import write_note


@tasks_api.task
def note(path: str, word: str) -> None:
    write_note(path, word)


@tasks_api.task
def fail(path: str, message: str) -> None:
    write_note(path, "begun")
    raise RuntimeError(message)


@tasks_api.task
async def note_async(path: str, word: str) -> None:
    write_note(path, word)


@tasks_api.task(takes_context=True)
def note_in_context(context: Any, path: str, word: str) -> None:
    assert context.task_result.kwargs == {"path": path, "word": word}
    write_note(path, word)


@tasks_api.task
@runs_once
def note_once(path: str, word: str) -> None:
    write_note(path, word)
