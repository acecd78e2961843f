"""Tasks of Procrastinate's own kind."""

from __future__ import annotations

from procrastinate.contrib.django import app

from tests.engines.tasks import write_note


@app.task
def note(path: str, word: str) -> None:
    write_note(path, word)


@app.task
def fail(path: str, message: str) -> None:
    write_note(path, "begun")
    raise RuntimeError(message)
