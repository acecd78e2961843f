"""Dramatiq as the queue, when its server is away, silent, or dies; and one message that fails."""

from __future__ import annotations

import asyncio
import socket
import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from dramatiq import set_broker
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import Middleware

from django_dyncron import background_task
from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueNotSent
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers.dramatiq import DramatiqTaskEnqueuer
from tests.servers import ValkeyServer

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)


@background_task
def note(word: str) -> None: ...


@pytest.fixture(autouse=True)
def _no_global_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramatiq.broker.global_broker", None)


def a_run(word: str = "hello") -> Run:
    return Run(UUID(int=7), "morning", f"{__name__}.note", {"word": word}, "default", SLOT)


async def test_a_server_that_is_not_there_was_sent_nothing() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        set_broker(RedisBroker(url=f"redis://127.0.0.1:{port}/0"))
        attempts = await DramatiqTaskEnqueuer().enqueue_runs([a_run(), a_run()], lambda: True)
    assert [attempt.outcome for attempt in attempts] == [Outcome.NOT_SENT] * 2
    assert "connecting to 127.0.0.1" in attempts[0].error


async def test_a_server_that_hangs_holds_nobody_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        set_broker(RedisBroker(url=f"redis://127.0.0.1:{port}/0?socket_timeout=0.2"))
        began = time.monotonic()
        async with asyncio.timeout(10):
            with pytest.raises(EnqueueNotSent, match="TimeoutError"):
                await DramatiqTaskEnqueuer().enqueue_run(a_run())
    assert 0.2 <= time.monotonic() - began < 5


class BeforeTheThird(Middleware):
    """Kills the server before the third message is sent."""

    def __init__(self, server: ValkeyServer) -> None:
        self._server = server
        self._seen = 0

    def before_enqueue(self, broker: Any, message: Any, delay: Any) -> None:
        self._seen += 1
        if self._seen == 3:
            self._server.kill()


async def test_a_server_that_dies_meanwhile(disposable_valkey: ValkeyServer) -> None:
    broker = RedisBroker(url=disposable_valkey.url)
    broker.add_middleware(BeforeTheThird(disposable_valkey))
    set_broker(broker)
    attempts = await DramatiqTaskEnqueuer().enqueue_runs([a_run()] * 5, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [
        Outcome.ENQUEUED,
        Outcome.ENQUEUED,
        Outcome.UNCERTAIN,
        Outcome.NOT_SENT,
        Outcome.NOT_SENT,
    ]


class Picky(StubBroker):
    """Fails on one message, as an encoder might."""

    def enqueue(self, message: Any, *, delay: int | None = None) -> Any:
        if message.kwargs["payload"] == {"word": "never"}:
            raise TypeError("no such word")
        return super().enqueue(message, delay=delay)


async def test_one_message_that_cannot_be_sent_stops_no_other() -> None:
    set_broker(Picky())
    runs = [a_run(), a_run("never"), a_run()]
    attempts = await DramatiqTaskEnqueuer().enqueue_runs(runs, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [
        Outcome.ENQUEUED,
        Outcome.UNCERTAIN,
        Outcome.ENQUEUED,
    ]
    assert attempts[1].error == "TypeError: no such word"
