"""Dramatiq as the queue: what is sent and what is refused, with a broker in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import dramatiq
import pytest
from django.test import modify_settings, override_settings
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import AgeLimit, Middleware, TimeLimit

from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers.dramatiq import DramatiqTaskEnqueuer
from django_dyncron.enqueuers.dramatiq_worker import CurrentRunMiddleware, set_up

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
DAY = {"day": "2026-11-01"}
REPORT = "tests.shop.tasks.build_report"
GENERIC = "django_dyncron.run_background_task"
RUN_ID = "00000000-0000-0000-0000-000000000007"
IDENTITY = {
    "run_id": RUN_ID,
    "job_id": "morning",
    "scheduled_for": "2026-11-01T05:30:00+00:00",
}

elsewhere = StubBroker()
"""A broker that settings may name."""


@pytest.fixture(autouse=True)
def _shop() -> Iterator[None]:
    with modify_settings(INSTALLED_APPS={"append": "tests.shop"}):
        yield


@pytest.fixture(autouse=True)
def broker(monkeypatch: pytest.MonkeyPatch) -> StubBroker:
    """The global broker, with the actors of a project."""
    broker = StubBroker()
    monkeypatch.setattr("dramatiq.broker.global_broker", broker)

    @dramatiq.actor(queue_name="mail")
    def send_mail(to: str, *, subject: str = "") -> None: ...

    @dramatiq.actor(actor_name="restack-shelf")
    async def restack(shelf: int) -> None: ...

    monkeypatch.setattr("tests.shop.tasks.restack", restack, raising=False)
    return broker


def a_run(task_name: str = REPORT, queue: str = "default", **others: Any) -> Run:
    payload = others.pop("payload", DAY)
    return Run(UUID(RUN_ID), "morning", task_name, payload, queue, SLOT, **others)


def sent(broker: StubBroker, queue: str = "default") -> list[dramatiq.Message[Any]]:
    """What lies in a queue of the broker."""
    waiting = broker.queues[queue]
    return [dramatiq.Message.decode(waiting.get_nowait()) for _ in range(waiting.qsize())]


def refusal(task_name: str, payload: Any, queue: str = "default") -> EnqueueRefused:
    with pytest.raises(EnqueueRefused) as caught:
        DramatiqTaskEnqueuer().check_task(task_name, payload, queue)
    return caught.value


# --- what is sent -----------------------------------------------------------------------------


async def test_an_actor_gets_the_payload_as_it_is(broker: StubBroker) -> None:
    run = a_run("send_mail", "mail", payload={"to": "a@example.org"})
    assert await DramatiqTaskEnqueuer().enqueue_run(run) == RUN_ID
    (message,) = sent(broker, "mail")
    assert message.message_id == RUN_ID
    assert message.actor_name == "send_mail"
    assert (message.args, message.kwargs) == ((), {"to": "a@example.org"})
    assert message.options == {"dyncron": IDENTITY}


@pytest.mark.parametrize("name", ["restack-shelf", "tests.shop.tasks.restack"])
async def test_an_actor_goes_by_its_name_or_its_dotted_path(broker: StubBroker, name: str) -> None:
    await DramatiqTaskEnqueuer().enqueue_run(a_run(name, payload={"shelf": 3}))
    (message,) = sent(broker)
    assert (message.actor_name, message.kwargs) == ("restack-shelf", {"shelf": 3})


async def test_the_queue_of_the_job_counts(broker: StubBroker) -> None:
    await DramatiqTaskEnqueuer().enqueue_run(a_run("send_mail", payload={"to": "b"}))
    assert sent(broker, "mail") == []
    (message,) = sent(broker)
    assert message.queue_name == "default"


async def test_a_background_task_travels_with_its_run(broker: StubBroker) -> None:
    await DramatiqTaskEnqueuer().enqueue_run(a_run(queue="reports"))
    (message,) = sent(broker, "reports")
    assert message.actor_name == GENERIC
    assert message.message_id == RUN_ID
    assert message.kwargs == {"task_name": REPORT, "payload": {"day": "2026-11-01"}}
    assert message.options == {"dyncron": IDENTITY}


async def test_a_task_by_hand_has_no_run(broker: StubBroker) -> None:
    task_id = await DramatiqTaskEnqueuer().enqueue_task(REPORT, DAY, "default")
    await DramatiqTaskEnqueuer().enqueue_task("send_mail", {"to": "c"}, "default")
    background, mail = sent(broker)
    assert background.message_id == task_id
    assert (background.options, mail.options) == ({}, {})


async def test_a_class_based_actor(broker: StubBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    class Sweep(dramatiq.GenericActor):
        def perform(self, room: str) -> None: ...

    monkeypatch.setattr("tests.shop.tasks.sweep", Sweep, raising=False)
    enqueuer = DramatiqTaskEnqueuer()
    for name in ("Sweep", "tests.shop.tasks.sweep"):
        await enqueuer.enqueue_run(a_run(name, payload={"room": "attic"}))
        assert refusal(name, {"rom": "attic"}).field == "payload"
    assert [(each.actor_name, each.kwargs) for each in sent(broker)] == [
        ("Sweep", {"room": "attic"}),
        ("Sweep", {"room": "attic"}),
    ]


async def test_many_runs_are_isolated_from_each_other(broker: StubBroker) -> None:
    runs = [a_run(), a_run("os.system"), a_run("send_mail", payload={"to": "d"}), a_run(queue="no")]
    attempts = await DramatiqTaskEnqueuer().enqueue_runs(runs, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [
        Outcome.ENQUEUED,
        Outcome.REFUSED,
        Outcome.ENQUEUED,
        Outcome.REFUSED,
    ]
    assert len(sent(broker)) == 2


async def test_a_broker_beside_the_global_one(broker: StubBroker) -> None:
    enqueuer = DramatiqTaskEnqueuer(broker=f"{__name__}.elsewhere")
    await enqueuer.enqueue_run(a_run())
    assert sent(broker) == []
    assert [message.actor_name for message in sent(elsewhere)] == [GENERIC]


def test_nothing_is_asked_of_the_global_broker_before_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dramatiq.broker.global_broker", None)
    enqueuer = DramatiqTaskEnqueuer()
    later = StubBroker()
    dramatiq.set_broker(later)
    assert enqueuer.broker is later


def test_a_broker_is_set_up_once_and_our_hook_stands_first(broker: StubBroker) -> None:
    set_up(broker)
    set_up(broker)
    ours = [each for each in broker.middleware if isinstance(each, CurrentRunMiddleware)]
    assert ours == [broker.middleware[0]]


def test_a_broker_may_do_without_any_middleware() -> None:
    bare = StubBroker(middleware=[])
    set_up(bare)
    assert [type(each) for each in bare.middleware] == [CurrentRunMiddleware]


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task_name, payload, queue, field, words",
    [
        ("send_mail", {"too": "a"}, "mail", "payload", "send_mail takes (to, *, subject=''): miss"),
        ("send_mail", [], "mail", "payload", "must be an object"),
        ("restack-shelf", {}, "default", "payload", "restack takes (shelf): missing"),
        (REPORT, {}, "default", "payload", "missing a required argument: 'day'"),
        (REPORT, DAY, "slow", "queue", "no queue 'slow': use one of default, mail, reports, or"),
        (REPORT, DAY, "default.DQ", "queue", "no queue 'default.DQ'"),
        ("send_mial", {}, "default", "task_name", "no actor 'send_mial'. Did you mean \"send_mai"),
        ("tests.shop.tasks.no_such", {}, "default", "task_name", "not a registered task"),
        ("tests.shop.tasks.system", {}, "default", "task_name", "not a registered task"),
        ("os.system", {}, "default", "task_name", "not a registered task"),
        (GENERIC, {"task_name": REPORT, "payload": DAY}, "default", "task_name", "runs other tas"),
    ],
)
def test_what_can_never_work_is_refused(
    task_name: str, payload: Any, queue: str, field: str, words: str
) -> None:
    error = refusal(task_name, payload, queue)
    assert error.field == field
    assert words in str(error)


def test_an_actor_elsewhere_must_be_allowed() -> None:
    with modify_settings(INSTALLED_APPS={"remove": "tests.shop"}):
        assert refusal("tests.shop.tasks.restack", {"shelf": 3}).field == "task_name"
        with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*"]}):
            DramatiqTaskEnqueuer().check_task("tests.shop.tasks.restack", {"shelf": 3}, "default")


def test_a_name_that_is_not_allowed_is_not_even_imported() -> None:
    sys.modules.pop("this", None)
    refusal("this.s", {})
    assert "this" not in sys.modules


def test_an_actor_of_another_broker_would_be_known_to_no_worker() -> None:
    with pytest.raises(EnqueueRefused, match="an actor of another broker"):
        DramatiqTaskEnqueuer(broker=f"{__name__}.elsewhere").check_task(
            "tests.shop.tasks.restack", {"shelf": 3}, "default"
        )


def test_a_queue_may_be_declared_by_the_project(broker: StubBroker) -> None:
    assert refusal(REPORT, DAY, "nightly").field == "queue"
    broker.declare_queue("nightly")
    DramatiqTaskEnqueuer().check_task(REPORT, DAY, "nightly")


@pytest.mark.parametrize(
    "path, words",
    [
        ("tests.shop.no_such_module.broker", "cannot be imported"),
        ("tests.shop.tasks.no_such_broker", "cannot be imported"),
        ("tests.shop.tasks.ledger", "is no broker of Dramatiq"),
    ],
)
def test_a_broker_that_is_not_there_is_an_error(path: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DramatiqTaskEnqueuer(broker=path)


def test_a_broker_without_workers_says_so() -> None:
    assert DramatiqTaskEnqueuer().lacks_workers == "StubBroker of Dramatiq"
    dramatiq.set_broker(RedisBroker())
    assert DramatiqTaskEnqueuer().lacks_workers == ""


# --- options of a job -------------------------------------------------------------------------


class Tenants(Middleware):
    actor_options = {"tenant"}


async def test_options_travel_with_the_message(broker: StubBroker) -> None:
    broker.add_middleware(Tenants())
    options = {
        "max_retries": 3,
        "min_backoff": 1000,
        "max_backoff": 60_000,
        "max_age": 3_600_000,
        "time_limit": 30_000,
        "notify_shutdown": True,
        "on_failure": "send_mail",
        "tenant": {"name": "north"},
    }
    enqueuer = DramatiqTaskEnqueuer()
    enqueuer.check_options(options)
    await enqueuer.enqueue_run(a_run(options=options))
    await enqueuer.enqueue_run(a_run("send_mail", payload={"to": "e"}, options=options))
    for message in sent(broker):
        assert message.options == {**options, "dyncron": IDENTITY}


@pytest.mark.parametrize(
    "options, words",
    [
        ([], "must be a JSON object"),
        (
            {"max_retrys": 1},
            "no option 'max_retrys'; there are: max_age, .*you mean \"max_retries\"",
        ),
        ({"max_retries": -1}, "must be a whole number from 0 to 1000000, not -1"),
        ({"min_backoff": 604_800_001}, "must be a whole number from 1 to 604800000"),
        ({"time_limit": "30s"}, "must be a whole number from 1 to"),
        ({"notify_shutdown": "yes"}, "must be true or false"),
        ({"on_success": "no_such_actor"}, "must be the name of an actor, not 'no_such_actor'"),
        ({"on_failure": {}}, "must be the name of an actor"),
        ({"throws": "ValueError"}, "has no option 'throws'"),
        ({"pipe_target": {}}, "has no option 'pipe_target'"),
        ({"store_results": True}, "has no option 'store_results'"),
        ({"broker_priority": 1}, "has no option 'broker_priority'"),
        ({"dyncron": {}}, "has no option 'dyncron'"),
    ],
)
def test_wrong_options_are_refused(options: Any, words: str) -> None:
    with pytest.raises(EnqueueRefused, match=words) as caught:
        DramatiqTaskEnqueuer().check_options(options)
    assert caught.value.field == "options"


def test_an_option_needs_the_middleware_that_reads_it() -> None:
    dramatiq.set_broker(StubBroker(middleware=[TimeLimit(), AgeLimit()]))
    enqueuer = DramatiqTaskEnqueuer()
    enqueuer.check_options({"max_age": 1})
    with pytest.raises(EnqueueRefused, match="there are: max_age, time_limit"):
        enqueuer.check_options({"max_retries": 1})


def test_the_priority_of_a_broker_that_has_priorities(broker: StubBroker) -> None:
    broker.max_priority = 5  # as RabbitmqBroker calls it
    DramatiqTaskEnqueuer().check_options({"broker_priority": 5})
    with pytest.raises(EnqueueRefused, match="must be a whole number from 0 to 5, not 6"):
        DramatiqTaskEnqueuer().check_options({"broker_priority": 6})
