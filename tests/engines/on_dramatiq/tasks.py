"""Actors that do as the tasks of all queues do."""

from __future__ import annotations

import dramatiq

from tests.engines.tasks import fail as fail_in_any_queue
from tests.engines.tasks import write_note


@dramatiq.actor
def note(path: str, word: str) -> None:
    write_note(path, word)


@dramatiq.actor(actor_name="fail-at-once", max_retries=0)
def fail(path: str, message: str) -> None:
    fail_in_any_queue(path, message)
