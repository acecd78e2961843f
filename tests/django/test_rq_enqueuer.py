"""RQ as the queue: names, options and messages, and what is refused, without a Redis."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.test import modify_settings, override_settings

from django_dyncron.conf import ConfigurationError, MissingClient, get_settings, load_enqueuer
from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers import rq, rq_worker
from django_dyncron.enqueuers.rq import RqTaskEnqueuer

NOBODY = "redis://127.0.0.1:9/0"
"""Where nobody listens."""
SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
DAY = {"day": "2026-11-01"}
REPORT = "tests.shop.tasks.build_report"
NOTE = "tests.engines.on_rq.tasks.note"
NOTE_PAYLOAD = {"path": "/notes", "word": "x"}
RUN_JSON = {
    "run_id": "00000000-0000-0000-0000-000000000007",
    "job_id": "morning",
    "scheduled_for": "2026-11-01T05:30:00+00:00",
}


@pytest.fixture(autouse=True)
def _project() -> Iterator[None]:
    """A project with django-rq, two queues, background tasks and jobs of RQ's own kind."""
    apps = ["tests.shop", "tests.engines.on_rq"]
    queues = {"default": {"URL": NOBODY}, "slow": {"URL": NOBODY, "DEFAULT_RESULT_TTL": 60}}
    with (
        override_settings(RQ_QUEUES=queues, RQ={"DEFAULT_RESULT_TTL": 5000}),
        modify_settings(INSTALLED_APPS={"append": apps}),
    ):
        yield


@pytest.fixture
async def enqueuer() -> AsyncIterator[RqTaskEnqueuer]:
    enqueuer = RqTaskEnqueuer()
    yield enqueuer
    await enqueuer.aclose()


def a_run(task_name: str = REPORT, **others: Any) -> Run:
    payload = others.pop("payload", DAY)
    queue = others.pop("queue", "default")
    return Run(UUID(int=7), "morning", task_name, payload, queue, SLOT, **others)


def message_of(run: Run, enqueuer: RqTaskEnqueuer | None = None) -> dict[str, Any]:
    """Return what RQ is given for ``run``, without what is not set."""
    enqueuer = enqueuer or RqTaskEnqueuer()
    message = enqueuer.prepare(run.task_name, run.payload, run.queue, run)
    return {key: value for key, value in message.data._asdict().items() if value is not None}


def refusal(task_name: str, payload: Any, queue: str = "default") -> EnqueueRefused:
    with pytest.raises(EnqueueRefused) as caught:
        RqTaskEnqueuer().check_task(task_name, payload, queue)
    return caught.value


# --- what is sent -----------------------------------------------------------------------------


def test_a_background_task_travels_inside_our_function() -> None:
    assert message_of(a_run()) == {
        "func": "django_dyncron.enqueuers.rq_worker.run_task",
        "kwargs": {"task_name": REPORT, "payload": {"day": "2026-11-01"}},
        "job_id": "00000000-0000-0000-0000-000000000007",
        "description": "tests.shop.tasks.build_report(...)",
        "meta": {"dyncron": RUN_JSON},
        "result_ttl": 5000,
        "at_front": False,
    }


def test_jobs_name_the_function_of_the_worker() -> None:
    function = rq_worker.run_task
    assert f"{function.__module__}.{function.__qualname__}" == rq._FUNCTION


def test_a_job_of_rq_s_own_kind_travels_inside_it_too() -> None:
    message = message_of(a_run(NOTE, payload=NOTE_PAYLOAD, queue="slow"))
    assert message["func"] == "django_dyncron.enqueuers.rq_worker.run_task"
    assert message["kwargs"] == {"task_name": NOTE, "payload": NOTE_PAYLOAD}
    assert message["meta"] == {"dyncron": RUN_JSON}


def test_what_the_decorator_says_counts_but_for_the_queue() -> None:
    message = message_of(a_run("tests.engines.on_rq.tasks.sleep", payload={"path": "/notes"}))
    assert message["timeout"] == 1
    retried = message_of(a_run("tests.engines.on_rq.tasks.fail_twice", payload={"path": "/notes"}))
    assert retried["retry"].max == 3
    options = {"timeout": 9, "retry": {"max": 5, "interval": [10, 60]}}
    both = message_of(
        a_run("tests.engines.on_rq.tasks.fail_twice", payload={"path": "/"}, options=options)
    )
    assert both["timeout"] == 9
    assert (both["retry"].max, both["retry"].intervals) == (5, [10, 60])


def test_the_options_of_a_job_are_what_rq_calls_them() -> None:
    options = {
        "timeout": -1,
        "result_ttl": 0,
        "failure_ttl": 86400,
        "ttl": 600,
        "at_front": True,
        "retry": 2,
        "meta": {"tenant": "north"},
        "description": "the report",
    }
    message = message_of(a_run(options=options))
    assert message.pop("retry").max == 2
    assert message.pop("meta") == {"tenant": "north", "dyncron": RUN_JSON}
    assert {name: message[name] for name in options if name in message} == {
        "timeout": -1,
        "result_ttl": 0,
        "failure_ttl": 86400,
        "ttl": 600,
        "at_front": True,
        "description": "the report",
    }


def test_results_are_kept_as_long_as_django_rq_says() -> None:
    assert message_of(a_run(queue="slow"))["result_ttl"] == 60
    assert message_of(a_run(queue="slow", options={"result_ttl": 7}))["result_ttl"] == 7
    assert "result_ttl" not in message_of(a_run(), RqTaskEnqueuer(NOBODY))


def test_a_task_by_hand_has_an_id_and_no_run() -> None:
    message = RqTaskEnqueuer().prepare(REPORT, DAY, "default")
    assert UUID(message.job_id).version == 4
    assert message.data.meta is None


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task_name, payload, queue, field, words",
    [
        (NOTE, {"path": "/"}, "default", "payload", "note takes (path, word): missing"),
        (NOTE, [], "default", "payload", "must be an object"),
        (REPORT, {}, "default", "payload", "missing a required argument: 'day'"),
        (NOTE, NOTE_PAYLOAD, "fast", "queue", "no queue 'fast': use one of default, slow."),
        (REPORT, DAY, "", "queue", "no queue '': use one of default, slow."),
        (f"{NOTE}s", NOTE_PAYLOAD, "default", "task_name", "not a registered task"),
        ("tests.engines.on_rq.tasks.write_note", {}, "default", "task_name", "not a registered"),
        ("tests.engines.on_rq.tasks.Path", {}, "default", "task_name", "not a registered task"),
        ("tests.shop.tasks.restock", {}, "default", "task_name", "not a registered task"),
        ("os.system", {"command": "true"}, "default", "task_name", "not a registered task"),
        ("note", NOTE_PAYLOAD, "default", "task_name", "not a registered task"),
    ],
)
def test_what_can_never_work_is_refused(
    task_name: str, payload: Any, queue: str, field: str, words: str
) -> None:
    error = refusal(task_name, payload, queue)
    assert error.field == field
    assert words in str(error)


def test_a_job_of_rq_s_own_kind_elsewhere_must_be_allowed() -> None:
    with modify_settings(INSTALLED_APPS={"remove": ["tests.engines.on_rq"]}):
        assert refusal(NOTE, NOTE_PAYLOAD).field == "task_name"
        with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.engines.on_rq.tasks.*"]}):
            RqTaskEnqueuer().check_task(NOTE, NOTE_PAYLOAD, "default")


def test_a_name_that_is_not_allowed_is_not_even_imported() -> None:
    sys.modules.pop("this", None)
    refusal("this.s", {})
    assert "this" not in sys.modules


def test_a_plain_function_may_be_allowed_by_the_settings() -> None:
    with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*"]}):
        RqTaskEnqueuer().check_task("tests.shop.tasks.restock", {"count": 2}, "default")


def test_at_a_url_queues_have_any_name_or_these() -> None:
    RqTaskEnqueuer(NOBODY).check_task(REPORT, DAY, "whatever")
    enqueuer = RqTaskEnqueuer(NOBODY, queues=["default", "mail"])
    enqueuer.check_task(REPORT, DAY, "mail")
    with pytest.raises(EnqueueRefused, match="no queue 'mial': use one of default, mail"):
        enqueuer.check_task(REPORT, DAY, "mial")


@pytest.mark.parametrize(
    "options, words",
    [
        ({"timout": 5}, "no option 'timout'.* Did you mean \"timeout\""),
        ({"timeout": 0}, "'timeout' must be a whole number from 1 to .*, or -1, not 0"),
        ({"timeout": "1h"}, "'timeout' must be a whole number"),
        ({"timeout": True}, "'timeout' must be a whole number"),
        ({"result_ttl": -2}, "'result_ttl' must be a whole number from 0"),
        ({"failure_ttl": 1.5}, "'failure_ttl' must be a whole number"),
        ({"ttl": -1}, "'ttl' must be a whole number from 1"),
        ({"at_front": "yes"}, "'at_front' must be true or false"),
        ({"description": ""}, "'description' must be a text"),
        ({"retry": 0}, "'retry' must be a number of retries or an object"),
        ({"retry": 2.5}, "'retry' must be"),
        ({"retry": {"max": 2.5}}, "'retry' must be"),
        ({"retry": {"max": 2, "interval": "10"}}, "'retry' must be"),
        ({"retry": {"max": 2, "interval": -1}}, "'retry' must be"),
        ({"retry": {"interval": 1}}, "'retry' must be"),
        ({"retry": {"max": 2, "pause": 1}}, "'retry' must be"),
        ({"meta": "north"}, "'meta' must be an object"),
        ({"meta": {"dyncron": 1}}, "without 'dyncron'"),
        ([], "must be a JSON object"),
    ],
)
def test_options_that_are_wrong_are_refused(options: Any, words: str) -> None:
    with pytest.raises(EnqueueRefused, match=words) as caught:
        RqTaskEnqueuer().check_options(options)
    assert caught.value.field == "options"


async def test_wrong_options_fail_only_their_run(enqueuer: RqTaskEnqueuer) -> None:
    runs = [a_run(options={"prio": 1}), a_run("os.system")]
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [Outcome.REFUSED, Outcome.REFUSED]
    assert "'prio'" in attempts[0].error


async def test_what_reached_no_redis_was_not_sent(enqueuer: RqTaskEnqueuer) -> None:
    runs = [a_run(), a_run(NOTE, payload=NOTE_PAYLOAD, queue="slow")]
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [Outcome.NOT_SENT, Outcome.NOT_SENT]
    assert "ConnectionError" in attempts[0].error


# --- settings ---------------------------------------------------------------------------------


def configured(enqueuer: Any) -> ConfigurationError:
    with (
        override_settings(DYNCRON={"ENQUEUER": enqueuer}),
        pytest.raises(ConfigurationError) as caught,
    ):
        load_enqueuer("", get_settings())
    return caught.value


@pytest.mark.parametrize(
    "options, words",
    [
        ({"queues": ["mail"]}, "need a url"),
        ({"serializer": "json"}, "need a url"),
        ({"url": "http://localhost"}, "scheme"),
        ({"url": NOBODY, "queues": "mail"}, "must be a list of names"),
        ({"url": NOBODY, "serializer": "no.such"}, "no"),
        ({"ulr": NOBODY}, 'Did you mean "url"'),
    ],
)
def test_options_of_the_enqueuer_that_make_no_sense(options: Any, words: str) -> None:
    assert words in str(configured({"BACKEND": "rq", "OPTIONS": options}))


def test_django_rq_must_have_queues() -> None:
    with override_settings(RQ_QUEUES={}):
        assert "RQ_QUEUES is empty" in str(configured("rq"))


def test_django_rq_must_be_installed_unless_there_is_a_url(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "django_rq"]:
        monkeypatch.setitem(sys.modules, name, None)
    error = configured("rq")
    assert isinstance(error, MissingClient)
    assert '"django_rq"' in str(error)
    RqTaskEnqueuer(NOBODY).check_task(REPORT, DAY, "default")


def test_the_client_does_not_wait_for_long() -> None:
    for enqueuer in (RqTaskEnqueuer(), RqTaskEnqueuer(NOBODY)):
        client = enqueuer._queue("default").connection
        arguments = client.get_connection_kwargs()
        assert arguments["socket_timeout"] == 5.0
        assert arguments["socket_connect_timeout"] == 5.0
        assert client.get_retry().get_retries() == 1


def test_a_patience_that_somebody_asked_for_stays() -> None:
    client = RqTaskEnqueuer(f"{NOBODY}?socket_timeout=2")._queue("default").connection
    assert client.get_connection_kwargs()["socket_timeout"] == 2.0
