"""The threads of the local enqueuer, their connections and contexts."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils.translation import activate, get_language

from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.django.local.pool import DAY, Journal, a_run, idle, send, until
from tests.shop import tasks


async def test_threads_start_when_needed_and_end_when_closed(journal: Journal) -> None:
    def workers() -> list[str]:
        return [
            each.name for each in threading.enumerate() if each.name.startswith("dyncron-local")
        ]

    enqueuer = LocalTaskEnqueuer(max_workers=3)
    enqueuer.bind(journal)
    assert workers() == []
    for number in (1, 2, 3):
        await send(enqueuer, a_run("ping", number, url="/"))
        await idle(enqueuer)
    assert workers() == ["dyncron-local-1"]
    await send(enqueuer, *(a_run("wait", number) for number in range(4, 9)))
    await until(lambda: len(workers()) == 3)
    tasks.gate.set()
    await idle(enqueuer)
    await enqueuer.aclose()
    assert workers() == []


async def test_the_blocking_parts_of_an_async_task_stay_in_its_thread(
    enqueuer: LocalTaskEnqueuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    async def ask(day: str) -> None:
        seen.append(await sync_to_async(lambda: threading.current_thread().name)())

    monkeypatch.setattr("django_dyncron.enqueuers.local.resolve_task", lambda name: ask)
    await send(enqueuer, a_run("build_report", **DAY))
    await idle(enqueuer)
    assert seen == ["dyncron-local-1"]


async def test_nothing_a_task_sets_in_its_context_outlives_it(
    enqueuer: LocalTaskEnqueuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def translate(day: str) -> None:
        seen.append(get_language())
        activate("de")

    monkeypatch.setattr("django_dyncron.enqueuers.local.resolve_task", lambda name: translate)
    for number in (1, 2):
        await send(enqueuer, a_run("build_report", number, **DAY))
        await idle(enqueuer)
    assert seen == ["en-us", "en-us"]


@pytest.mark.django_db(transaction=True)
async def test_a_task_s_connection_is_its_thread_s_own_and_closed_after_it(
    enqueuer: LocalTaskEnqueuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def query(day: str, *, full: bool = False) -> None:
        connection.ensure_connection()
        seen.append((threading.current_thread().name, connection._connections["default"]))  # type: ignore[attr-defined]

    monkeypatch.setattr("django_dyncron.enqueuers.local.resolve_task", lambda name: query)
    await send(enqueuer, a_run("build_report", **DAY))
    await idle(enqueuer)
    ((thread, used),) = seen
    assert thread == "dyncron-local-1"
    assert used.connection is None


_STUCK = """
import asyncio, datetime, sys
import django
from django.conf import settings
settings.configure()
django.setup()
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.shop import tasks

async def main():
    enqueuer = LocalTaskEnqueuer()
    await enqueuer.enqueue_task("tests.shop.tasks.wait", {}, "default")
    await asyncio.to_thread(tasks.arrived.wait)
    given_up = await enqueuer.drain(datetime.timedelta(seconds=0.1))
    return 1 if given_up else 0

sys.exit(asyncio.run(main()))
"""


def test_a_task_that_never_ends_does_not_keep_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", _STUCK], timeout=20, check=False)
    assert done.returncode == 1
