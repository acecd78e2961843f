"""Brokers that are away, hang, or die; and messages that stop no others."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery, signals

from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers._celery_sending import _leaving_together
from tests.django.celery.sending import Make, a_run, enqueue, received
from tests.servers import ValkeyServer


def test_no_broker_means_not_sent(make: Make) -> None:
    enqueuer = make(broker_url="redis://127.0.0.1:1/0")
    began = time.monotonic()

    attempts = enqueue(enqueuer, *(a_run() for _ in range(3)))

    assert [attempt.outcome for attempt in attempts] == [Outcome.NOT_SENT] * 3
    assert "No broker: " in attempts[0].error
    assert time.monotonic() - began < 2


def test_a_broker_that_does_not_answer(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        enqueuer = make(
            broker_url=f"redis://127.0.0.1:{deaf.getsockname()[1]}/0",
            broker_transport_options={"socket_timeout": 0.2},
        )
        began = time.monotonic()

        (attempt,) = enqueue(enqueuer, a_run())

    assert attempt.outcome == Outcome.NOT_SENT
    assert time.monotonic() - began < 5


def test_the_next_broker_of_several(make: Make, app: Celery, redis_url: str) -> None:
    enqueuer = make(broker_url=["redis://127.0.0.1:1/0", redis_url])

    (attempt,) = enqueue(enqueuer, a_run())

    assert attempt.outcome == Outcome.ENQUEUED
    app.conf.broker_url = redis_url
    assert len(received(app)) == 1


@pytest.mark.parametrize("broker", ["redis", "memory"])
def test_what_cannot_be_a_message_stops_no_other(
    make: Make, app: Celery, broker: str, redis_url: str
) -> None:
    enqueuer = make(broker_url=redis_url if broker == "redis" else "memory://")
    runs = [a_run(), a_run(payload={"box": object()}), a_run()]

    attempts = enqueue(enqueuer, *runs)

    outcomes = [attempt.outcome for attempt in attempts]
    assert outcomes == [Outcome.ENQUEUED, Outcome.UNCERTAIN, Outcome.ENQUEUED]
    assert "EncodeError" in attempts[1].error
    arrived = [message.headers["id"] for message in received(app)]
    assert arrived == [str(runs[0].run_id), str(runs[2].run_id)]


def test_what_is_wrong_with_a_queue_stops_no_other(make: Make, app: Celery, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set("odd", "no list")
    runs = [a_run(), a_run(queue="odd"), a_run(), a_run(queue="slow")]

    attempts = enqueue(make(broker_url=redis_url), *runs)

    assert attempts[1].outcome == Outcome.NOT_SENT
    others = [attempts[number].outcome for number in (0, 2, 3)]
    assert others == [Outcome.ENQUEUED] * 3
    assert "WRONGTYPE" in attempts[1].error
    assert len(received(app)) == 2
    assert len(received(app, "slow")) == 1


class Amqp:
    """A channel of AMQP, as far as transactions go, that writes down what it is told."""

    supports_batch_publish = False

    def __init__(self, **options: Any) -> None:
        self.told: list[str] = []
        transport = SimpleNamespace(driver_type="amqp")
        self.connection = SimpleNamespace(transport=transport, transport_options=options)
        self.channel = self

    def tx_select(self) -> None:
        self.told.append("select")

    def tx_commit(self) -> None:
        self.told.append("commit")


def test_amqp_takes_messages_in_a_transaction() -> None:
    channel = Amqp()
    with _leaving_together(channel) as leave_together:
        channel.told.append("messages")

    assert leave_together is True
    assert channel.told == ["select", "messages", "commit"]


def test_amqp_takes_nothing_after_an_error() -> None:
    channel = Amqp()
    with pytest.raises(ConnectionResetError), _leaving_together(channel):
        raise ConnectionResetError

    assert channel.told == ["select"]


def test_amqp_that_confirms_each_message() -> None:
    channel = Amqp(confirm_publish=True)
    with _leaving_together(channel) as leave_together:
        channel.told.append("messages")

    assert leave_together is False
    assert channel.told == ["messages"]


@pytest.fixture
def dying_broker(disposable_valkey: ValkeyServer) -> Iterator[ValkeyServer]:
    """A Valkey that is killed when the second of several messages has been made."""
    made: list[str] = []

    @signals.before_task_publish.connect(weak=False)
    def kill(headers: dict[str, Any], **_: object) -> None:
        made.append(headers["id"])
        if len(made) == 2:
            disposable_valkey.kill()

    yield disposable_valkey
    signals.before_task_publish.disconnect(kill)


def test_a_broker_that_dies_while_it_is_told(
    make: Make, app: Celery, dying_broker: ValkeyServer
) -> None:
    enqueuer = make(broker_url=dying_broker.url)

    attempts = enqueue(enqueuer, a_run(), a_run(), a_run())

    # All three were to leave together: nobody knows.
    assert [attempt.outcome for attempt in attempts] == [Outcome.UNCERTAIN] * 3
    dying_broker.restart()
    (attempt,) = enqueue(make(), a_run())
    assert attempt.outcome == Outcome.ENQUEUED
    assert len(received(app)) == 1


def test_a_broker_that_dies_while_it_is_told_one_by_one(
    make: Make, dying_broker: ValkeyServer
) -> None:
    # With this, kombu sends no batches.
    options = {"retry_on_timeout": True}
    enqueuer = make(broker_url=dying_broker.url, broker_transport_options=options)

    attempts = enqueue(enqueuer, a_run(), a_run(), a_run())

    outcomes = [attempt.outcome for attempt in attempts]
    assert outcomes == [Outcome.ENQUEUED, Outcome.UNCERTAIN, Outcome.NOT_SENT]
    assert attempts[2].error.startswith("Not sent after an error: ")
