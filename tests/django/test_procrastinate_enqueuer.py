"""Procrastinate as the queue: what is deferred and what is refused, with jobs in memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.test import override_settings
from procrastinate import App
from procrastinate.contrib.django import app as django_app
from procrastinate.contrib.django.django_connector import DjangoConnector

from django_dyncron import EnqueueRefused
from django_dyncron.core.definitions import Run
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers.procrastinate import ProcrastinateTaskEnqueuer
from django_dyncron.enqueuers.procrastinate_worker import set_up, tell_run, tells_runs
from tests.engines.on_procrastinate import own

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
OWN = "tests.engines.on_procrastinate.own"
NOTE = "tests.engines.tasks.note"
WORDS = {"path": "/dev/null", "word": "hello"}
GENERIC = "django_dyncron.run_background_task"
RUN = {
    "run_id": "00000000-0000-0000-0000-000000000007",
    "job_id": "morning",
    "scheduled_for": "2026-11-01T05:30:00+00:00",
}


def a_run(task_name: str = NOTE, number: int = 7, **others: Any) -> Run:
    payload = others.pop("payload", WORDS)
    queue = others.pop("queue", "default")
    return Run(UUID(int=number), "morning", task_name, payload, queue, SLOT, **others)


@pytest.fixture(autouse=True)
def _empty_queue() -> Iterator[None]:
    own.connector.reset()
    yield
    own.app.worker_defaults = {}


@pytest.fixture
def enqueuer() -> ProcrastinateTaskEnqueuer:
    return ProcrastinateTaskEnqueuer(f"{OWN}.app")


def sent() -> list[dict[str, Any]]:
    """What the jobs in memory were deferred with."""
    wanted = ("task_name", "args", "queue_name", "priority", "lock", "queueing_lock")
    return [{name: job[name] for name in wanted} for job in own.connector.jobs.values()]


# --- what is deferred -------------------------------------------------------------------------


async def test_a_task_of_the_app_gets_the_payload_as_it_is(
    enqueuer: ProcrastinateTaskEnqueuer,
) -> None:
    run = a_run(f"{OWN}.pack", payload={"box": "a"}, queue="boxes")
    assert await enqueuer.enqueue_run(run) == "1"
    (job,) = sent()
    assert (job["task_name"], job["args"]) == (f"{OWN}.pack", {"box": "a"})
    assert (job["queue_name"], job["priority"], job["lock"]) == ("boxes", 0, None)


async def test_a_background_task_travels_with_its_run(enqueuer: ProcrastinateTaskEnqueuer) -> None:
    await enqueuer.enqueue_run(a_run(queue="notes"))
    (job,) = sent()
    assert (job["task_name"], job["queue_name"]) == (GENERIC, "notes")
    assert job["args"] == {"task_name": NOTE, "payload": WORDS, "run": RUN}
    assert job["lock"] is None


async def test_a_task_by_hand_has_no_run(enqueuer: ProcrastinateTaskEnqueuer) -> None:
    await enqueuer.enqueue_task(NOTE, WORDS, "default")
    (job,) = sent()
    assert job["args"] == {"task_name": NOTE, "payload": WORDS, "run": None}


@pytest.mark.parametrize("name", ["nightly", "daily"])
async def test_a_task_goes_by_its_own_name_and_keeps_its_settings(
    enqueuer: ProcrastinateTaskEnqueuer, name: str
) -> None:
    await enqueuer.enqueue_task(name, {}, "default")
    (job,) = sent()
    assert (job["task_name"], job["queue_name"], job["priority"]) == ("nightly", "default", 3)


async def test_a_task_goes_by_its_dotted_path_where_that_is_allowed(
    enqueuer: ProcrastinateTaskEnqueuer,
) -> None:
    with pytest.raises(EnqueueRefused):
        await enqueuer.enqueue_task(f"{OWN}.clean", {}, "default")
    with override_settings(DYNCRON={"ALLOWED_TASKS": [f"{OWN}.*"]}):
        await enqueuer.enqueue_task(f"{OWN}.clean", {}, "default")
    assert [job["task_name"] for job in sent()] == ["nightly"]


async def test_options_are_the_job_s_own(enqueuer: ProcrastinateTaskEnqueuer) -> None:
    options = {"priority": -7, "lock": "the pen", "queueing_lock": "the form"}
    for task_name, payload in ((NOTE, WORDS), (f"{OWN}.sign", {"box": "a"})):
        enqueuer.check_options(options)
        own.connector.reset()
        await enqueuer.enqueue_run(a_run(task_name, payload=payload, options=options))
        (job,) = sent()
        assert (job["priority"], job["lock"]) == (-7, "the pen")
        assert job["queueing_lock"] == "the form"


async def test_a_task_is_named_its_run_by_the_lock_that_nobody_uses(
    enqueuer: ProcrastinateTaskEnqueuer,
) -> None:
    await enqueuer.enqueue_run(a_run(f"{OWN}.pack", payload={"box": "a"}))
    set_up(own.app)
    telling = ProcrastinateTaskEnqueuer(own.app)
    await telling.enqueue_run(a_run(f"{OWN}.pack", payload={"box": "a"}))
    await telling.enqueue_run(a_run(f"{OWN}.pack", payload={"box": "a"}, options={"lock": "pen"}))
    await telling.enqueue_run(a_run(f"{OWN}.sign", payload={"box": "a"}))
    await telling.enqueue_run(a_run())
    locks = [job["lock"] for job in sent()]
    assert locks == [None, locks[1], "pen", "the one pen", None]
    assert json.loads(locks[1].removeprefix("django_dyncron:")) == RUN


async def test_many_runs_are_isolated_from_each_other(enqueuer: ProcrastinateTaskEnqueuer) -> None:
    form = {"queueing_lock": "form"}
    runs = [
        a_run(number=1),
        a_run("os.system", number=2),
        a_run(f"{OWN}.pack", number=3, payload={"box": "a"}, options=form),
        a_run(number=4, options=form),
        a_run(number=5),
    ]
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [(attempt.run.run_id.int, attempt.outcome) for attempt in attempts] == [
        (1, Outcome.ENQUEUED),
        (2, Outcome.REFUSED),
        (3, Outcome.ENQUEUED),
        (4, Outcome.REFUSED),
        (5, Outcome.ENQUEUED),
    ]
    assert "already a job in the queue with the queueing lock form" in attempts[3].error
    assert [attempt.task_id for attempt in attempts if attempt.task_id] == [
        str(number) for number in own.connector.jobs
    ]


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task_name, payload, queue, field, words",
    [
        (f"{OWN}.pack", {"bx": "a"}, "default", "payload", "pack takes (box, count=1): missing"),
        (f"{OWN}.pack", [], "default", "payload", "must be an object"),
        (f"{OWN}.ship", {}, "default", "payload", "ship takes (box): missing"),
        (NOTE, {"path": "x"}, "default", "payload", "missing a required argument: 'word'"),
        (NOTE, WORDS, "q" * 129, "queue", "at most 128 characters"),
        (f"{OWN}.pakc", {}, "default", "task_name", "not a registered task"),
        (f"{OWN}.not_a_task", {}, "default", "task_name", "not a registered task"),
        (GENERIC, {"task_name": NOTE, "payload": {}}, "default", "task_name", "not a registered"),
        ("os.system", {}, "default", "task_name", "not a registered task"),
        ("", {}, "default", "task_name", "not a registered task"),
    ],
)
def test_what_can_never_work_is_refused(
    enqueuer: ProcrastinateTaskEnqueuer,
    task_name: str,
    payload: Any,
    queue: str,
    field: str,
    words: str,
) -> None:
    with pytest.raises(EnqueueRefused) as caught:
        enqueuer.check_task(task_name, payload, queue)
    assert caught.value.field == field
    assert words in str(caught.value)


def test_a_task_of_another_app_is_no_task(enqueuer: ProcrastinateTaskEnqueuer) -> None:
    name = "tests.engines.on_procrastinate.tasks.note"
    with (
        override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.engines.on_procrastinate.tasks.*"]}),
        pytest.raises(EnqueueRefused, match="is not a plain function"),
    ):
        enqueuer.check_task(name, WORDS, "default")


def test_a_name_that_is_not_allowed_is_not_even_imported(
    enqueuer: ProcrastinateTaskEnqueuer,
) -> None:
    sys.modules.pop("this", None)
    with pytest.raises(EnqueueRefused):
        enqueuer.check_task("this.s", {}, "default")
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    "options, words",
    [
        ({"prio": 1}, "has no option 'prio'; there are: lock, priority, queueing_lock."),
        ({"priority": 1.5}, "'priority' must be a whole number"),
        ({"priority": 2**31}, "'priority' must be a whole number"),
        ({"lock": ""}, "'lock' must be a text"),
        ({"queueing_lock": 7}, "'queueing_lock' must be a text"),
    ],
)
async def test_wrong_options_are_refused(
    enqueuer: ProcrastinateTaskEnqueuer, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(EnqueueRefused) as caught:
        enqueuer.check_options(options)
    assert caught.value.field == "options"
    assert words in str(caught.value)
    with pytest.raises(EnqueueRefused):
        await enqueuer.enqueue_run(a_run(options=options))
    assert sent() == []


def test_the_app_of_django_must_be_ready() -> None:
    with pytest.raises(ValueError, match=r"add 'procrastinate.contrib.django' to INSTALLED_APPS"):
        ProcrastinateTaskEnqueuer()


# --- what is known ----------------------------------------------------------------------------


def test_only_a_connector_of_django_s_takes_part_in_a_transaction(
    enqueuer: ProcrastinateTaskEnqueuer,
) -> None:
    assert enqueuer.transaction_alias() is None
    app = App(connector=DjangoConnector(alias="jobs"))
    assert ProcrastinateTaskEnqueuer(app).transaction_alias() == "jobs"


def test_ends_are_reported_where_the_workers_were_set_up(
    enqueuer: ProcrastinateTaskEnqueuer,
) -> None:
    assert not enqueuer.reports_ends
    set_up(own.app)
    assert ProcrastinateTaskEnqueuer(own.app).reports_ends


def test_setting_up_twice_is_no_harm_and_keeps_what_is_there() -> None:
    async def other(call_next: Any, context: Any, worker: Any) -> Any:
        return await call_next()

    setting = {"worker_middleware": [other], "concurrency": 3}
    app = App(connector=own.connector, worker_defaults=setting)
    set_up(app)
    set_up(app)
    assert app.worker_defaults == {"worker_middleware": [other, tell_run], "concurrency": 3}
    assert setting == {"worker_middleware": [other], "concurrency": 3}
    assert tells_runs(app)
    assert GENERIC in app.tasks


def test_the_task_for_background_tasks_is_there_before_django_is_ready() -> None:
    assert GENERIC in django_app.tasks
