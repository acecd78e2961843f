"""Sending by a client that may hang: what is known, what is not, and what was not tried."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueError
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers import _broker
from django_dyncron.enqueuers._broker import BrokerTaskEnqueuer
from django_dyncron.enqueuers._sending import Sending


def always() -> bool:
    return True


def leave(count: int) -> Callable[[], bool]:
    """Give leave so many times."""
    answers = iter([True] * count)
    return lambda: next(answers, False)


def test_a_batch_asks_for_leave_before_each_message_and_sends_what_it_got() -> None:
    sent: list[list[int]] = []

    def send(messages: Sequence[int]) -> Iterator[str]:
        sent.append(list(messages))
        yield from map(str, messages)

    sending = Sending(range(250), send, leave(130), is_batch=True)
    sending.run()
    assert [len(chunk) for chunk in sent] == [100, 30]
    assert sending.answers() == [*map(str, range(130)), *[None] * 120]


def test_one_by_one_stops_at_the_message_for_which_there_is_no_leave() -> None:
    sent: list[int] = []

    def send(messages: Sequence[int]) -> Iterator[str]:
        for message in messages:
            sent.append(message)
            yield str(message)

    sending = Sending(range(5), send, leave(3), is_batch=False)
    sending.run()
    assert sent == [0, 1, 2]
    assert sending.answers() == ["0", "1", "2", None, None]


def test_an_error_is_that_of_what_was_under_way() -> None:
    def send(messages: Sequence[int]) -> Iterator[str]:
        yield "first"
        raise EnqueueError("cut")

    sending = Sending(range(3), send, always, is_batch=True)
    sending.run()
    first, *others = sending.answers()
    assert first == "first"
    assert [str(each) for each in others] == ["cut", "cut"]


@dataclass
class Client:
    """Answers the first chunk, then hangs until it is let go."""

    chunks: int = 0

    def __post_init__(self) -> None:
        self.let_go = threading.Event()
        self.hangs = threading.Event()

    def send(self, messages: Sequence[int]) -> Iterator[str]:
        self.chunks += 1
        if self.chunks == 2:
            self.hangs.set()
            self.let_go.wait(10)
        yield from map(str, messages)


@pytest.mark.parametrize("is_batch, uncertain", [(True, 100), (False, 1)])
def test_what_hangs_is_uncertain_and_the_rest_was_not_tried(is_batch: bool, uncertain: int) -> None:
    client = Client()
    sending = Sending(range(300), client.send, always, is_batch=is_batch)
    thread = threading.Thread(target=sending.run)
    thread.start()
    assert client.hangs.wait(10)
    answers = sending.give_up()
    client.let_go.set()
    thread.join(10)
    assert answers[:100] == [str(number) for number in range(100)]
    assert [type(each) for each in answers[100:]] == (
        [EnqueueError] * uncertain + [type(None)] * (200 - uncertain)
    )
    # Nothing leaves afterwards.
    assert client.chunks == 2


class Queue(BrokerTaskEnqueuer[int]):
    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client

    def prepare(
        self, task_name: str, payload: dict[str, Any], queue: str, run: Run | None = None
    ) -> int:
        return run.run_id.int if run else 0

    def send(self, messages: Sequence[int]) -> Iterator[str]:
        return self.client.send(messages)


async def outcomes(queue: Queue, count: int) -> list[Outcome]:
    runs = [Run(UUID(int=number), "job", "task", {}, "default", None) for number in range(count)]
    return [attempt.outcome for attempt in await queue.enqueue_runs(runs, always)]


async def test_a_client_that_hangs_is_given_up_left_alone_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_broker, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(_broker, "_LOOK_SECONDS", 0.01)
    client = Client()
    queue = Queue(client)
    async with asyncio.timeout(10):
        answers = await outcomes(queue, 300)
    assert answers == (
        [Outcome.ENQUEUED] * 100 + [Outcome.UNCERTAIN] * 100 + [Outcome.UNTRIED] * 100
    )
    assert await outcomes(queue, 2) == [Outcome.NOT_SENT] * 2
    monkeypatch.setattr(queue, "_rests_until", 0.0)
    # The thread that hangs is still there; another one sends.
    assert await outcomes(queue, 2) == [Outcome.ENQUEUED] * 2
    hung = {each for each in threading.enumerate() if each.name.startswith("dyncron-Queue")}
    client.let_go.set()
    await queue.aclose()
    for thread in hung:
        thread.join(10)
    assert not any(thread.is_alive() for thread in hung)


async def test_no_more_than_a_few_threads_are_left_hanging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_broker, "_PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(_broker, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(_broker, "_REST_SECONDS", 0.0)
    client = Client()
    queue = Queue(client)
    for _ in range(4):
        client.chunks = 1
        assert await outcomes(queue, 1) == [Outcome.UNCERTAIN]
    client.chunks = 1
    assert await outcomes(queue, 1) == [Outcome.NOT_SENT]
    client.let_go.set()
    for work in queue._hanging:
        work.result(10)
    assert await outcomes(queue, 1) == [Outcome.ENQUEUED]
    await queue.aclose()
