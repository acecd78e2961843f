"""Task objects of ``django.tasks``."""

from __future__ import annotations

from django_dyncron.enqueuers._django_tasks_api import tasks_api
from tests.engines.tasks import write_note


@tasks_api.task
def note(path: str, word: str) -> None:
    write_note(path, word)


@tasks_api.task
def fail(path: str, message: str) -> None:
    write_note(path, "begun")
    raise RuntimeError(message)
