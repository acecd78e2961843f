"""Which queue of Celery a job goes to, and what else it may ask of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from celery import Celery
from kombu import Exchange, Queue

from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.runs import Outcome
from tests.django.celery.sending import Make, a_run, enqueue, received


@pytest.mark.filterwarnings("ignore::celery.exceptions.CDeprecationWarning")
def test_default_is_the_queue_that_celery_would_choose(make: Make, app: Celery) -> None:
    @app.task(name="own", shared=False, queue="own-queue")
    def own() -> None: ...

    enqueuer = make()

    enqueue(enqueuer, a_run(), a_run("own", {}))

    assert [message.headers["task"] for message in received(app)] == ["pack"]
    assert [message.headers["task"] for message in received(app, "own-queue")] == ["own"]


def test_a_queue_by_name(make: Make, app: Celery) -> None:
    enqueue(make(), a_run(queue="slow"))

    assert received(app) == []
    assert len(received(app, "slow")) == 1


def test_default_where_there_is_a_queue_of_that_name(make: Make, app: Celery) -> None:
    queues = [Queue("default"), Queue("other")]
    enqueue(make(task_queues=queues, task_default_queue="other"), a_run())

    assert received(app, "other") == []
    assert len(received(app, "default")) == 1


def test_routes_of_the_settings_hold_for_default_alone(make: Make, app: Celery) -> None:
    enqueuer = make(task_routes={"pack": "packing"})

    enqueue(enqueuer, a_run(), a_run(queue="slow"), a_run("weigh"))

    assert len(received(app, "packing")) == 1
    assert len(received(app, "slow")) == 1
    assert len(received(app)) == 1


def test_a_topic_and_its_routing_key(make: Make, app: Celery) -> None:
    topic = Exchange("orders", type="topic")
    queues = [
        Queue("new", topic, routing_key="order.new"),
        Queue("north", topic, routing_key="order.*.north"),
    ]
    with app.connection_for_write() as connection:
        for queue in queues:
            queue.bind(connection.default_channel).declare()

    run = a_run(queue="new", options={"routing_key": "order.old.north"})
    enqueue(make(task_queues=queues), run)

    assert received(app, "new") == []
    assert len(received(app, "north")) == 1


def test_a_queue_that_is_not_there(make: Make) -> None:
    enqueuer = make(
        task_queues={"slow": {}, "fast": {}},
        task_create_missing_queues=False,
        task_default_queue="fast",
    )

    enqueuer.check_task("pack", {"box": "red"}, "slow")
    enqueuer.check_task("pack", {"box": "red"}, "default")
    with pytest.raises(
        EnqueueRefused, match=r"no queue 'slwo': use one of fast, slow\."
    ) as refusal:
        enqueuer.check_task("pack", {"box": "red"}, "slwo")
    assert refusal.value.field == "queue"


def test_a_route_to_a_queue_that_is_not_there(make: Make) -> None:
    enqueuer = make(task_routes={"pack": "packing"}, task_create_missing_queues=False)

    routed, other = enqueue(enqueuer, a_run(), a_run("weigh"))

    assert (routed.outcome, other.outcome) == (Outcome.REFUSED, Outcome.ENQUEUED)
    assert "packing" in routed.error


@pytest.mark.parametrize(
    "options, message",
    [
        ({"priorty": 1}, "Celery has no option 'priorty'"),
        ({"priority": 256}, "'priority' must be a whole number from 0 to 255"),
        ({"expires": 0}, "'expires' must be a number of seconds above 0"),
        ({"time_limit": "60"}, "'time_limit' must be a number of seconds above 0"),
        ({"time_limit": 5, "soft_time_limit": 6}, "'soft_time_limit' must not be above"),
        ({"ignore_result": 1}, "'ignore_result' must be true or false"),
        ({"routing_key": ""}, "'routing_key' must be a text"),
        ({"headers": {"tenant": 7}}, "'headers' must be an object of texts"),
        ({"headers": {"task": "ship"}}, "without 'task', which Celery itself uses"),
        ({"headers": {"kwargs": "x"}}, "without 'kwargs', which Celery itself uses"),
        ({"headers": {"lang": "x"}}, "without 'lang', which Celery itself uses"),
        ({"headers": {"dyncron": "x"}}, "without 'dyncron', which Celery itself uses"),
        (["priority"], "The options must be a JSON object"),
    ],
)
def test_options_that_are_wrong(make: Make, options: Any, message: str) -> None:
    with pytest.raises(EnqueueRefused) as refusal:
        make().check_options(options)
    assert refusal.value.field == "options"
    assert message in str(refusal.value)

    (attempt,) = enqueue(make(), a_run(options=options))
    assert attempt.outcome == Outcome.REFUSED
    assert message in attempt.error


def test_every_header_of_celery_is_its_own(make: Make, app: Celery) -> None:
    enqueue(make(), a_run())
    (message,) = received(app)

    assert {"task", "id", "expires", "timelimit", "retries", "dyncron"} <= set(message.headers)
    for name in message.headers:
        with pytest.raises(EnqueueRefused, match="which Celery itself uses"):
            make().check_options({"headers": {name: "x"}})


def test_options_that_are_right(make: Make, app: Celery) -> None:
    options = {
        "priority": 7,
        "expires": 90.5,
        "time_limit": 60,
        "soft_time_limit": 50,
        "ignore_result": False,
        "headers": {"tenant": "north"},
    }
    enqueuer = make()
    enqueuer.check_options(options)
    before = datetime.now(UTC)

    enqueue(enqueuer, a_run("ship", options=options))

    (message,) = received(app)
    assert message.properties["priority"] == 7
    assert message.headers["timelimit"] == [60, 50]
    assert message.headers["ignore_result"] is False
    assert message.headers["tenant"] == "north"
    expires = datetime.fromisoformat(message.headers["expires"])
    assert 90 < (expires - before).total_seconds() < 95
