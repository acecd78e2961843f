"""``django.tasks`` as the queue, with its real backends: Dummy, Immediate and the database's."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import django
import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.db import transaction
from django.test import modify_settings, override_settings

from django_dyncron.context import CurrentRun
from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers._django_tasks_api import tasks_api
from django_dyncron.enqueuers.django_tasks import DjangoTasksEnqueuer
from tests.depot import tasks as depot
from tests.shop import tasks as shop

FLAVOUR = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
DAY = {"day": "2026-11-01"}
PACK = "tests.depot.tasks.pack"
REPORT = "tests.shop.tasks.build_report"
GENERIC = "django_dyncron.enqueuers.django_tasks_worker.run_background_task"


def backend(path: str, *queues: str) -> dict[str, Any]:
    return {"BACKEND": path, "QUEUES": list(queues)}


DUMMY = f"{FLAVOUR}.backends.dummy.DummyBackend"
IMMEDIATE = f"{FLAVOUR}.backends.immediate.ImmediateBackend"
DATABASE = "django_tasks_db.DatabaseBackend"


@pytest.fixture(autouse=True)
def _shops() -> Iterator[None]:
    """Both apps are installed, and the queues are "default" and "reports"."""
    shop.calls.clear()
    shop.runs.clear()
    depot.calls.clear()
    tasks = {
        "default": backend(DUMMY, "default", "reports"),
        "now": backend(IMMEDIATE),
        "narrow": backend(DUMMY, "slow"),
    }
    with (
        modify_settings(INSTALLED_APPS={"append": ["tests.shop", "tests.depot"]}),
        override_settings(TASKS=tasks),
    ):
        yield


@pytest.fixture
def _task_tables(transactional_db: None) -> Iterator[None]:
    """The tables of django-tasks-db, whose backend is the default one."""
    with (
        modify_settings(INSTALLED_APPS={"append": ["django_tasks_db"]}),
        override_settings(TASKS={"default": backend(DATABASE, "default", "reports")}),
    ):
        call_command("migrate", "django_tasks_database", verbosity=0)
        from django_tasks_db.models import DBTaskResult

        yield
        # The tables stay: their migrations cannot be undone.
        DBTaskResult.objects.all().delete()


def sent() -> list[Any]:
    """What the dummy backend took."""
    return list(tasks_api.task_backends["default"].results)


def work() -> None:
    """Let a worker of django-tasks-db empty the queues, here; it leaves its signal handlers."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
    handlers = {each: signal.getsignal(each) for each in signals}
    try:
        call_command("db_worker", batch=True, queue_name="*", interval=0, verbosity=0, reload=False)
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)


def results() -> list[tuple[str, str, str]]:
    from django_tasks_db.models import DBTaskResult

    return [
        (row.task_path, row.queue_name, row.status)
        for row in DBTaskResult.objects.order_by("enqueued_at")
    ]


def a_run(task_name: str = REPORT, queue: str = "default", **others: Any) -> Run:
    payload = others.pop("payload", DAY)
    return Run(UUID(int=7), "morning", task_name, payload, queue, SLOT, **others)


def refusal(task_name: str, payload: Any, queue: str = "default") -> EnqueueRefused:
    with pytest.raises(EnqueueRefused) as caught:
        DjangoTasksEnqueuer().check_task(task_name, payload, queue)
    return caught.value


# --- what is sent -----------------------------------------------------------------------------


async def test_a_task_object_gets_the_payload_as_it_is() -> None:
    task_id = await DjangoTasksEnqueuer().enqueue_run(a_run(PACK, "reports", payload={"box": "a"}))
    (result,) = sent()
    assert result.id == task_id
    assert result.task.func is depot.pack.func
    assert result.task.queue_name == "reports"
    assert (result.args, result.kwargs) == ([], {"box": "a"})


async def test_a_background_task_travels_with_its_run() -> None:
    await DjangoTasksEnqueuer().enqueue_run(a_run(queue="reports"))
    (result,) = sent()
    assert result.task.module_path == GENERIC
    assert result.task.queue_name == "reports"
    assert result.kwargs == {
        "task_name": REPORT,
        "payload": {"day": "2026-11-01"},
        "run": {
            "run_id": "00000000-0000-0000-0000-000000000007",
            "job_id": "morning",
            "scheduled_for": "2026-11-01T05:30:00+00:00",
        },
    }


async def test_a_task_by_hand_has_no_run() -> None:
    await DjangoTasksEnqueuer().enqueue_task(REPORT, DAY, "default")
    (result,) = sent()
    assert result.kwargs == {"task_name": REPORT, "payload": DAY, "run": None}


async def test_the_backend_may_be_chosen() -> None:
    await DjangoTasksEnqueuer(backend="now").enqueue_task(PACK, {"box": "a"}, "default")
    await DjangoTasksEnqueuer(backend="now").enqueue_task(REPORT, DAY, "default")
    assert sent() == []
    assert depot.calls == [("a", 1)]
    assert shop.calls == [("build_report", ("2026-11-01", False))]


async def test_an_immediate_backend_runs_async_tasks_too() -> None:
    enqueuer = DjangoTasksEnqueuer(backend="now")
    await enqueuer.enqueue_run(a_run("tests.shop.tasks.ping", payload={"url": "/"}))
    await enqueuer.enqueue_run(a_run("tests.depot.tasks.weigh", payload={"box": "a"}))
    assert shop.calls == [("ping", "/")]
    assert shop.runs == [CurrentRun(UUID(int=7), "morning", SLOT)]
    assert depot.calls == ["a"]


async def test_a_function_may_be_allowed_by_the_settings() -> None:
    with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*"]}):
        await DjangoTasksEnqueuer().enqueue_task("tests.shop.tasks.restock", {}, "default")
    (result,) = sent()
    assert result.kwargs["task_name"] == "tests.shop.tasks.restock"


async def test_many_runs_are_isolated_from_each_other() -> None:
    runs = [a_run(), a_run("os.system"), a_run(PACK, payload={"box": "a"}), a_run(queue="nowhere")]
    attempts = await DjangoTasksEnqueuer().enqueue_runs(runs, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [
        Outcome.ENQUEUED,
        Outcome.REFUSED,
        Outcome.ENQUEUED,
        Outcome.REFUSED,
    ]
    assert [attempt.task_id for attempt in attempts if attempt.task_id] == [
        result.id for result in sent()
    ]


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task_name, payload, queue, field, words",
    [
        (PACK, {"bx": "a"}, "default", "payload", "pack takes (box, count=1): missing"),
        (PACK, [], "default", "payload", "must be an object"),
        ("tests.depot.tasks.ship", {}, "default", "payload", "ship takes (box): missing"),
        (REPORT, {}, "default", "payload", "missing a required argument: 'day'"),
        (PACK, {"box": "a"}, "report", "queue", "no queue 'report': use one of default, reports."),
        (REPORT, DAY, "slow", "queue", "no queue 'slow': use one of default, reports."),
        ("tests.depot.tasks.pakc", {}, "default", "task_name", "not a registered task"),
        ("tests.depot.tasks.not_a_task", {}, "default", "task_name", "not a registered task"),
        ("tests.shop.tasks.system", {}, "default", "task_name", "not a registered task"),
        ("os.system", {}, "default", "task_name", "not a registered task"),
    ],
)
def test_what_can_never_work_is_refused(
    task_name: str, payload: Any, queue: str, field: str, words: str
) -> None:
    error = refusal(task_name, payload, queue)
    assert error.field == field
    assert words in str(error)


def test_a_task_object_elsewhere_must_be_allowed() -> None:
    with modify_settings(INSTALLED_APPS={"remove": ["tests.depot"]}):
        assert refusal(PACK, {"box": "a"}).field == "task_name"
        with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.depot.tasks.*"]}):
            DjangoTasksEnqueuer().check_task(PACK, {"box": "a"}, "default")


def test_a_name_that_is_not_allowed_is_not_even_imported() -> None:
    sys.modules.pop("this", None)
    refusal("this.s", {})
    assert "this" not in sys.modules


def test_a_backend_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no backend 'fast': choose one of default, narrow, now"):
        DjangoTasksEnqueuer(backend="fast")


async def test_the_only_option_is_the_priority() -> None:
    enqueuer = DjangoTasksEnqueuer()
    for options in ({"prio": 1}, {"priority": 101}, {"priority": "high"}):
        with pytest.raises(EnqueueRefused) as caught:
            await enqueuer.enqueue_run(a_run(options=options))
        assert caught.value.field == "options"
    await enqueuer.enqueue_run(a_run(options={"priority": 5}))
    assert [result.task.priority for result in sent()] == [5]


# --- the database backend and its worker ------------------------------------------------------


@pytest.mark.usefixtures("_task_tables")
def test_the_worker_runs_background_tasks_as_their_run() -> None:
    enqueuer = DjangoTasksEnqueuer()
    enqueuer.enqueue_runs_now([a_run(queue="reports")])
    enqueuer.enqueue_runs_now([a_run("tests.shop.tasks.ping", payload={"url": "/"})])
    enqueuer.enqueue_runs_now([a_run(PACK, payload={"box": "a", "count": 2})])
    enqueuer.enqueue_runs_now([a_run("tests.depot.tasks.ship", payload={"box": "b"})])
    assert shop.calls == []
    work()
    assert shop.calls == [("build_report", ("2026-11-01", False)), ("ping", "/")]
    assert shop.runs == [CurrentRun(UUID(int=7), "morning", SLOT)] * 2
    assert depot.calls == [("a", 2), ("b", 1)]
    assert results() == [
        (GENERIC, "reports", "SUCCESSFUL"),
        (GENERIC, "default", "SUCCESSFUL"),
        (PACK, "default", "SUCCESSFUL"),
        ("tests.depot.tasks.ship", "default", "SUCCESSFUL"),
    ]


@pytest.mark.usefixtures("_task_tables")
def test_an_enqueue_from_an_event_loop_reaches_the_worker() -> None:
    run = a_run(options={"priority": 7})
    assert UUID(async_to_sync(DjangoTasksEnqueuer().enqueue_run)(run))
    work()
    assert shop.runs == [CurrentRun(UUID(int=7), "morning", SLOT)]
    assert results() == [(GENERIC, "default", "SUCCESSFUL")]


@pytest.mark.usefixtures("_task_tables")
def test_the_worker_refuses_what_it_may_not_run() -> None:
    with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*"]}):
        DjangoTasksEnqueuer().enqueue_runs_now([a_run("tests.shop.tasks.restock", payload={})])
    work()
    assert shop.calls == []
    assert results() == [(GENERIC, "default", "FAILED")]


@pytest.mark.usefixtures("_task_tables")
def test_an_enqueue_is_part_of_the_transaction_around_it() -> None:
    enqueuer = DjangoTasksEnqueuer()
    assert enqueuer.transaction_alias() == "default"
    with transaction.atomic():
        enqueuer.enqueue_runs_now([a_run()])
        assert len(results()) == 1
        transaction.set_rollback(True)
    assert results() == []


@pytest.mark.usefixtures("_task_tables")
def test_only_database_backends_take_part_in_a_transaction() -> None:
    tasks = {"default": backend(DATABASE), "now": backend(IMMEDIATE)}
    with override_settings(TASKS=tasks):
        assert DjangoTasksEnqueuer().transaction_alias() is None
        assert DjangoTasksEnqueuer(backend="now").transaction_alias() is None
        assert DjangoTasksEnqueuer(backend="default").transaction_alias() == "default"


def test_without_database_backends_there_is_no_transaction() -> None:
    assert DjangoTasksEnqueuer().transaction_alias() is None
