"""Async actors that do as the tasks of all queues do."""

from __future__ import annotations

import asyncio

import dramatiq

from tests.engines.on_dramatiq_plain.brokers import reports
from tests.engines.tasks import fail as fail_in_any_queue
from tests.engines.tasks import write_note


@dramatiq.actor(broker=reports)
async def note(path: str, word: str) -> None:
    await asyncio.sleep(0)
    write_note(path, word)


@dramatiq.actor(broker=reports, max_retries=0)
async def fail(path: str, message: str) -> None:
    await asyncio.sleep(0)
    fail_in_any_queue(path, message)
