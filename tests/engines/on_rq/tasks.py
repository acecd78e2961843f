"""Jobs of RQ's own kind."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from django_rq import job
from rq import Retry

from django_dyncron import runs_once
from tests.engines.tasks import write_note


@job
def note(path: str, word: str) -> None:
    write_note(path, word)


@job("slow")
def fail(path: str, message: str) -> None:
    write_note(path, "begun")
    raise RuntimeError(message)


@job("default", timeout=1)
def sleep(path: str) -> None:
    write_note(path, "begun")
    time.sleep(30)


@job("default", retry=Retry(max=3))
def fail_twice(path: str) -> str:
    write_note(path, "begun")
    if len(Path(path).read_text().splitlines()) < 3:
        raise RuntimeError("not yet")
    return "done"


@job
def ask_twice(path: str) -> Retry | str:
    write_note(path, "begun")
    return "done" if len(Path(path).read_text().splitlines()) == 3 else Retry(max=3)


@job
def ask_for_ever(path: str) -> Retry:
    write_note(path, "begun")
    return Retry(max=1)


@job("default", timeout=60)
async def sleep_async(path: str) -> None:
    write_note(path, "begun")
    await asyncio.sleep(30)


@job("default")
@runs_once
def fail_once(path: str, message: str) -> None:
    write_note(path, "begun")
    raise RuntimeError(message)
