"""The background tasks that every queue is given. Paths come with the payload."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from django_dyncron import background_task, current_run, runs_once
from tests.integration.lines import append_line


def write_note(path: str, word: str) -> None:
    """Append one line of JSON: the word, and which run this code believes to be in."""
    run = current_run()
    append_line(path, json.dumps({"word": word, "run": run and run.as_json()}))


def read_notes(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines; a file that is not there has none."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def _announced(function: Callable[[str, str], None]) -> Callable[[str, str], None]:
    """Note each delivery in a file beside ``path``, whether or not the task starts."""

    @wraps(function)
    def announce(path: str, word: str) -> None:
        append_line(f"{path}.delivered", word)
        function(path, word)

    return announce


@background_task
def note(path: str, word: str) -> None:
    write_note(path, word)


@background_task
async def note_async(path: str, word: str) -> None:
    await asyncio.sleep(0)
    write_note(path, word)


@background_task
@_announced
@runs_once
def note_once(path: str, word: str) -> None:
    write_note(path, word)


@background_task
def hold(path: str, until: str) -> None:
    """Note ``begun``, wait until the file ``until`` exists, then note ``ended``."""
    write_note(path, "begun")
    while not Path(until).exists():
        time.sleep(0.01)
    write_note(path, "ended")


@background_task
def fail(path: str, message: str) -> None:
    write_note(path, "begun")
    raise RuntimeError(message)
