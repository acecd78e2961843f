"""Tasks of Huey's own kind."""

from __future__ import annotations

from huey.contrib.djhuey import db_task, task

from tests.engines.tasks import write_note


@db_task()
def note(path: str, word: str) -> None:
    write_note(path, word)


@task()
def fail(path: str, message: str) -> None:
    write_note(path, "begun")
    raise RuntimeError(message)
