"""Huey without djhuey: two instances, in memory or in the SQLite file that a process is given."""

from __future__ import annotations

import os

from huey import Huey, MemoryHuey, SqliteHuey
from huey.api import Task

from django_dyncron import runs_once
from tests.engines.tasks import write_note


def _instance(name: str) -> Huey:
    file = os.environ.get("DYNCRON_TEST_QUEUE_FILE")
    return SqliteHuey(name, filename=file) if file else MemoryHuey(name)


letters = _instance("letters")
parcels = _instance("parcels")


@letters.task()
def write(path: str, word: str) -> None:
    write_note(path, word)


@letters.task(name="write_by_hand", priority=3)
def write_slowly(path: str, word: str) -> None:
    write_note(path, word)


@letters.task(context=True)
def describe(path: str, delay: int, id: str, task: Task) -> None:  # noqa: A002
    """Note arguments that are named as settings of Huey are."""
    write_note(path, f"delay={delay} id={id} eta={task.eta}")


@letters.task(retries=2)
def fail(path: str, message: str) -> None:
    write_note(path, "attempt")
    raise RuntimeError(message)


@letters.task(retries=2)
@runs_once
def fail_once(path: str, message: str) -> None:
    write_note(path, "attempt")
    raise RuntimeError(message)


@parcels.task()
def weigh(path: str, word: str) -> None:
    write_note(path, word)
