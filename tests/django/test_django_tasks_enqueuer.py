"""``django.tasks`` as the queue, with its own backends: Dummy and Immediate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django
import pytest
from asgiref.sync import async_to_sync
from django.test import modify_settings, override_settings

from django_dyncron.context import CurrentRun
from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueNotSent, EnqueueRefused
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers._django_tasks_api import tasks_api
from django_dyncron.enqueuers.django_tasks import DjangoTasksEnqueuer
from tests.databases import database_alias
from tests.depot import tasks as depot
from tests.shop import tasks as shop

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

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


def sent() -> list[Any]:
    """What the dummy backend took."""
    return list(tasks_api.task_backends["default"].results)


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


@pytest.mark.parametrize(
    "options, words",
    [
        ({"prio": 1}, "django_tasks has no option 'prio'; there are: priority."),
        ({"priority": 101}, "'priority' must be a whole number from -100 to 100, not 101."),
        ({"priority": "high"}, "'priority' must be a whole number from -100 to 100, not 'high'."),
    ],
)
async def test_the_only_option_is_the_priority(options: dict[str, Any], words: str) -> None:
    enqueuer = DjangoTasksEnqueuer()
    with pytest.raises(EnqueueRefused) as caught:
        enqueuer.check_options(options)
    assert caught.value.field == "options"
    assert words in str(caught.value)
    with pytest.raises(EnqueueRefused):
        await enqueuer.enqueue_run(a_run(options=options))
    enqueuer.check_options({"priority": 5})
    await enqueuer.enqueue_run(a_run(options={"priority": 5}))
    assert [result.task.priority for result in sent()] == [5]


class Choosy(tasks_api.backends.base.BaseTaskBackend):  # type: ignore[misc]
    """Knows no priorities and takes no box "b"."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        if kwargs["box"] == "b":
            raise RuntimeError("no box b")
        return SimpleNamespace(id=kwargs["box"])


async def test_a_backend_may_know_no_priorities() -> None:
    run = a_run(PACK, payload={"box": "a"}, options={"priority": 5})
    with override_settings(TASKS={"default": backend(f"{__name__}.Choosy")}):
        enqueuer = DjangoTasksEnqueuer()
        enqueuer.check_options({"priority": 0})
        with pytest.raises(EnqueueRefused, match="No backend of TASKS knows priorities") as caught:
            enqueuer.check_options({"priority": 5})
        assert caught.value.field == "options"
        with pytest.raises(EnqueueRefused, match="setting priority of tasks") as caught:
            await enqueuer.enqueue_run(run)
        assert caught.value.field == "options"


# --- backends that fail -----------------------------------------------------------------------


async def outcomes() -> list[tuple[Outcome, str]]:
    runs = [a_run(PACK, payload={"box": box}) for box in "abc"]
    with override_settings(TASKS={"default": backend(f"{__name__}.Choosy")}):
        attempts = await DjangoTasksEnqueuer().enqueue_runs(runs, lambda: True)
    return [(attempt.outcome, attempt.task_id or attempt.error) for attempt in attempts]


async def test_a_backend_may_refuse_one_and_take_the_others() -> None:
    assert await outcomes() == [
        (Outcome.ENQUEUED, "a"),
        (Outcome.UNCERTAIN, "RuntimeError: no box b"),
        (Outcome.ENQUEUED, "c"),
    ]


async def test_a_backend_that_is_slow_to_fail_is_asked_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("django_dyncron.enqueuers.django_tasks._PATIENCE", 0)
    assert await outcomes() == [
        (Outcome.ENQUEUED, "a"),
        (Outcome.UNCERTAIN, "RuntimeError: no box b"),
        (Outcome.NOT_SENT, "Not tried, after RuntimeError: no box b"),
    ]


def test_a_database_of_tasks_that_is_away_was_sent_nothing(
    django_db_blocker: DjangoDbBlocker,
) -> None:
    class Away:
        def db_for_write(self, model: Any, **_: Any) -> str | None:
            return "away" if model._meta.app_label == "django_tasks_database" else None

    tasks = {"default": backend("django_tasks_db.DatabaseBackend")}
    with (
        django_db_blocker.unblock(),
        modify_settings(INSTALLED_APPS={"append": ["django_tasks_db"]}),
        override_settings(TASKS=tasks),
        database_alias("away", "postgresql://postgres@127.0.0.1:1/away"),
        override_settings(DATABASE_ROUTERS=[Away()]),
    ):
        enqueuer = DjangoTasksEnqueuer()
        assert enqueuer.transaction_alias() == "away"
        with pytest.raises(EnqueueNotSent, match="refused"):
            async_to_sync(enqueuer.enqueue_run)(a_run())


def test_only_rows_are_sent_in_batches_and_tell_of_every_task() -> None:
    enqueuer = DjangoTasksEnqueuer()
    assert not enqueuer.sends_batches
    assert not enqueuer.reports_ends
    assert not enqueuer.refuses_repeated_ids
    assert enqueuer.transaction_alias() is None
