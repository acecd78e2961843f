"""Huey as the queue, up to the message: names, payloads, queues, options and errors of sending."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from uuid import UUID

import pytest
from django.test import modify_settings, override_settings
from huey import Huey, MemoryHuey, RedisHuey, SqliteHuey
from huey.api import Task

from django_dyncron.conf import get_settings, load_enqueuer, load_worker_modules
from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers.huey import HueyTaskEnqueuer
from tests.engines.on_huey import plain

RUN_ID = "00000000-0000-0000-0000-000000000007"
SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
WRITE = "tests.engines.on_huey.plain.write"
REPORT = "tests.shop.tasks.build_report"
DAY = {"day": "2026-11-01"}
NOTE = {"path": "notes", "word": "hello"}

unordered = RedisHuey("unordered", url="redis://127.0.0.1:1/0")


@unordered.task(priority=5)
def hurry() -> None: ...


@pytest.fixture(autouse=True)
def _shop() -> Iterator[None]:
    with modify_settings(INSTALLED_APPS={"append": ["tests.shop"]}):
        import tests.shop.tasks  # noqa: F401

        yield
    plain.letters.flush()
    plain.parcels.flush()


@pytest.fixture
def enqueuer() -> HueyTaskEnqueuer:
    return HueyTaskEnqueuer("tests.engines.on_huey.plain.letters")


@pytest.fixture
def both() -> HueyTaskEnqueuer:
    return HueyTaskEnqueuer(queues={"default": plain.letters, "parcels": plain.parcels})


def a_run(task_name: str = WRITE, queue: str = "default", **others: Any) -> Run:
    others = {"payload": NOTE, "scheduled_for": SLOT} | others
    return Run(UUID(RUN_ID), "morning", task_name, queue=queue, **others)


def sent(huey: Huey = plain.letters) -> list[Task]:
    tasks: list[Task] = huey.pending()
    return tasks


def refusal(
    enqueuer: HueyTaskEnqueuer, task_name: str, payload: Any, queue: str = "default"
) -> EnqueueRefused:
    with pytest.raises(EnqueueRefused) as caught:
        enqueuer.check_task(task_name, payload, queue)
    return caught.value


# --- what is sent -----------------------------------------------------------------------------


async def test_a_task_of_huey_gets_the_payload_as_it_is(enqueuer: HueyTaskEnqueuer) -> None:
    task_id = await enqueuer.enqueue_run(a_run())
    (task,) = sent()
    assert type(task) is plain.write.task_class
    assert (task.args, task.kwargs) == ((), {"path": "notes", "word": "hello"})
    assert task.id == task_id == f"{RUN_ID}/2026-11-01T05:30:00+00:00/morning"
    assert (task.eta, task.retries, task.priority, task.expires) == (None, 0, None, None)


async def test_a_background_task_travels_with_its_run(enqueuer: HueyTaskEnqueuer) -> None:
    task_id = await enqueuer.enqueue_run(a_run(REPORT, payload=DAY))
    (task,) = sent()
    name = f"{type(task).__module__}.{type(task).__name__}"
    assert name == "django_dyncron.enqueuers.huey_worker.run_background_task"
    assert task.id == task_id == RUN_ID
    assert task.kwargs == {
        "task_name": REPORT,
        "payload": DAY,
        "run": {
            "run_id": RUN_ID,
            "job_id": "morning",
            "scheduled_for": "2026-11-01T05:30:00+00:00",
        },
    }
    assert (task.retries, task.priority) == (0, None)


async def test_a_task_by_hand_has_no_run(enqueuer: HueyTaskEnqueuer) -> None:
    ids = [
        await enqueuer.enqueue_task(REPORT, DAY, "default"),
        await enqueuer.enqueue_task(WRITE, NOTE, "default"),
    ]
    assert [task.id for task in sent()] == ids
    assert [task.kwargs for task in sent()] == [{"task_name": REPORT, "payload": DAY}, NOTE]


async def test_arguments_named_as_settings_of_huey_are_arguments(
    enqueuer: HueyTaskEnqueuer,
) -> None:
    payload = {"path": "notes", "delay": 60, "id": "7"}
    await enqueuer.enqueue_run(a_run("tests.engines.on_huey.plain.describe", payload=payload))
    (task,) = sent()
    assert (task.kwargs, task.eta) == (payload, None)
    assert task.id.startswith(f"{RUN_ID}/")


async def test_options_become_settings_of_the_task(enqueuer: HueyTaskEnqueuer) -> None:
    options = {
        "priority": 7,
        "expires": 600,
        "retries": 2,
        "retry_delay": 5,
        "retry_backoff": 2,
        "timeout": 30,
    }
    await enqueuer.enqueue_run(a_run(options=options))
    (task,) = sent()
    assert {name: getattr(task, name) for name in options} == options
    assert task.expires_resolved is not None


async def test_a_task_keeps_the_settings_that_a_job_leaves_alone(
    enqueuer: HueyTaskEnqueuer,
) -> None:
    await enqueuer.enqueue_run(a_run("tests.engines.on_huey.plain.write_slowly"))
    assert [task.priority for task in sent()] == [3]


async def test_the_queue_of_the_job_is_the_instance(both: HueyTaskEnqueuer) -> None:
    weigh = "tests.engines.on_huey.plain.weigh"
    runs = [a_run(), a_run(weigh, "parcels"), a_run(REPORT, "parcels", payload=DAY)]
    for run in runs:
        await both.enqueue_run(run)
    assert len(sent(plain.letters)) == 1
    assert [task.name for task in sent(plain.parcels)] == ["weigh", "run_background_task"]


async def test_many_runs_keep_their_order_and_stop_when_told(enqueuer: HueyTaskEnqueuer) -> None:
    leaves = iter([True] * 150)
    runs = [a_run(payload={"path": "notes", "word": str(number)}) for number in range(200)]
    attempts = await enqueuer.enqueue_runs(runs, lambda: next(leaves, False))
    assert [attempt.outcome for attempt in attempts] == (
        [Outcome.ENQUEUED] * 150 + [Outcome.UNTRIED] * 50
    )
    assert [task.kwargs["word"] for task in sent()] == [str(number) for number in range(150)]


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["default", "letters"])
def test_an_instance_by_itself_is_the_default_queue(enqueuer: HueyTaskEnqueuer, queue: str) -> None:
    enqueuer.check_task(WRITE, NOTE, queue)
    enqueuer.check_task(REPORT, DAY, queue)


def test_a_task_is_known_by_its_registered_name(enqueuer: HueyTaskEnqueuer) -> None:
    _, task = enqueuer.prepare("tests.engines.on_huey.plain.write_by_hand", NOTE, "default")
    assert type(task) is plain.write_slowly.task_class


def test_nothing_is_imported_for_a_name_that_is_not_allowed(enqueuer: HueyTaskEnqueuer) -> None:
    assert refusal(enqueuer, "this.s", {}).field == "task_name"
    assert "this" not in sys.modules


def test_no_module_is_made_to_import_others(
    enqueuer: HueyTaskEnqueuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> NoReturn:
        raise AssertionError(f"{name} was asked for")

    lazy = ModuleType("lazy_module")
    lazy.__getattr__ = load  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy_module", lazy)
    assert refusal(enqueuer, "lazy_module.anything", {}).field == "task_name"


def test_a_module_that_is_allowed_is_imported(enqueuer: HueyTaskEnqueuer) -> None:
    name = "tests.engines.on_huey.allowed.seal"
    assert refusal(enqueuer, name, {}).field == "task_name"
    with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.engines.on_huey.allowed.*"]}):
        _, task = enqueuer.prepare(name, {"letter": "a"}, "default")
    assert (task.name, task.kwargs) == ("seal", {"letter": "a"})


@pytest.mark.parametrize(
    "name", ["write", "os.system", "tests.engines.on_huey.plain.write_note", "tests.shop.tasks.no"]
)
def test_an_unknown_task_is_refused(enqueuer: HueyTaskEnqueuer, name: str) -> None:
    refused = refusal(enqueuer, name, {})
    assert refused.field == "task_name"
    assert name in str(refused)


@pytest.mark.parametrize(
    "name, payload, words",
    [
        (WRITE, {"path": "notes"}, "write takes (path, word): missing a required argument: 'word'"),
        (WRITE, {**NOTE, "more": 1}, "got an unexpected keyword argument 'more'"),
        (WRITE, ["notes"], "object of keyword arguments"),
        (REPORT, {"dya": ""}, "missing a required argument: 'day'"),
        ("tests.engines.on_huey.plain.describe", {"path": "", "delay": 1}, "'id'"),
        ("tests.engines.on_huey.plain.describe", ["notes"], "object of keyword arguments"),
        (
            "tests.engines.on_huey.plain.describe",
            {"path": "", "delay": 1, "id": "", "task": 1},
            'Huey itself gives the argument "task".',
        ),
    ],
)
def test_a_payload_that_does_not_fit_is_refused(
    enqueuer: HueyTaskEnqueuer, name: str, payload: Any, words: str
) -> None:
    refused = refusal(enqueuer, name, payload)
    assert refused.field == "payload"
    assert words in str(refused)


def test_an_unknown_queue_is_refused(both: HueyTaskEnqueuer) -> None:
    refused = refusal(both, WRITE, NOTE, "letters")
    assert refused.field == "queue"
    assert str(refused) == "There is no queue 'letters' of Huey: use one of default, parcels."


def test_a_task_of_another_instance_is_refused(
    enqueuer: HueyTaskEnqueuer, both: HueyTaskEnqueuer
) -> None:
    elsewhere = refusal(both, WRITE, NOTE, "parcels")
    assert elsewhere.field == "queue"
    assert str(elsewhere) == f"'{WRITE}' is a task of the queue 'default'."
    assert refusal(enqueuer, "tests.engines.on_huey.plain.weigh", NOTE).field == "task_name"


@pytest.mark.parametrize(
    "options, words",
    [
        ({"prioriti": 1}, "Did you mean"),
        ({"priority": "high"}, "'priority' must be a whole number"),
        ({"expires": 0}, "'expires' must be a whole number from 1"),
        ({"retries": -1}, "'retries' must be a whole number from 0"),
        ({"retry_delay": 1.5}, "'retry_delay' must be a whole number"),
        ({"timeout": True}, "'timeout' must be a whole number"),
        ([], "JSON object"),
    ],
)
async def test_wrong_options_are_refused(
    enqueuer: HueyTaskEnqueuer, options: Any, words: str
) -> None:
    with pytest.raises(EnqueueRefused) as caught:
        enqueuer.check_options(options)
    assert caught.value.field == "options"
    assert words in str(caught.value)
    (attempt,) = await enqueuer.enqueue_runs([a_run(options=options)], lambda: True)
    assert (attempt.outcome, attempt.error) == (Outcome.REFUSED, str(caught.value))


async def test_priorities_need_a_storage_that_knows_them() -> None:
    enqueuer = HueyTaskEnqueuer(unordered)
    enqueuer.check_options({"priority": 0})
    with pytest.raises(EnqueueRefused, match="knows no priorities") as caught:
        enqueuer.check_options({"priority": 1})
    assert caught.value.field == "options"
    with pytest.raises(EnqueueRefused) as caught:
        await enqueuer.enqueue_run(a_run(REPORT, payload=DAY, options={"priority": 1}))
    assert caught.value.field == "options"
    assert refusal(enqueuer, f"{__name__}.hurry", {}).field == "task_name"


# --- errors of sending ------------------------------------------------------------------------


async def _outcomes(huey: Huey) -> list[tuple[Outcome, str]]:
    runs = [a_run(REPORT, payload=DAY)] * 3
    attempts = await HueyTaskEnqueuer(huey).enqueue_runs(runs, lambda: True)
    return [(attempt.outcome, attempt.error) for attempt in attempts]


async def test_a_broker_that_is_away_was_certainly_sent_nothing() -> None:
    outcomes = await _outcomes(RedisHuey("away", url="redis://127.0.0.1:1/0"))
    assert [outcome for outcome, _ in outcomes] == [Outcome.NOT_SENT] * 3
    assert "ConnectionError" in outcomes[0][1]
    assert outcomes[2][1].startswith("Not tried after one that failed: ConnectionError")


async def test_a_broker_that_hangs_leaves_one_run_uncertain() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        huey = RedisHuey("hung", host="127.0.0.1", port=port, socket_timeout=0.2)
        outcomes = await _outcomes(huey)
    assert [outcome for outcome, _ in outcomes] == [
        Outcome.UNCERTAIN,
        Outcome.NOT_SENT,
        Outcome.NOT_SENT,
    ]


async def test_a_busy_sqlite_was_certainly_sent_nothing(tmp_path: Path) -> None:
    huey = SqliteHuey("busy", filename=str(tmp_path / "queue"), timeout=0.1)
    with sqlite3.connect(tmp_path / "queue") as other:
        other.execute("BEGIN EXCLUSIVE")
        outcomes = await _outcomes(huey)
    other.close()
    huey.storage.close()
    assert [outcome for outcome, _ in outcomes] == [Outcome.NOT_SENT] * 3


@pytest.mark.parametrize("written, seconds", [({}, 5.0), ({"socket_timeout": 9}, 9)])
async def test_waiting_for_redis_has_an_end(written: dict[str, Any], seconds: float) -> None:
    huey = RedisHuey("patient", host="127.0.0.1", port=1, **written)
    await _outcomes(huey)
    assert huey.storage.pool.connection_kwargs["socket_timeout"] == seconds


# --- where the instances come from ------------------------------------------------------------


@pytest.mark.parametrize(
    "options, words",
    [
        ({"huey": "tests.engines.on_huey.plain.leters"}, "cannot be imported"),
        ({"huey": WRITE}, "is no instance of Huey"),
        ({"huey": plain.letters, "queues": {"a": plain.parcels}}, "exclude each other"),
        ({"queues": {}}, "must name a queue"),
        ({"queues": {"a": "nowhere.huey"}}, "'nowhere.huey' cannot be imported"),
    ],
)
def test_what_leads_to_no_instance_is_an_error(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HueyTaskEnqueuer(**options)


def test_without_options_it_is_the_instance_of_djhuey() -> None:
    from huey.contrib.djhuey import HUEY

    with override_settings(DYNCRON={"ENQUEUER": "huey"}):
        enqueuer = load_enqueuer("default", get_settings())
    assert isinstance(enqueuer, HueyTaskEnqueuer)
    assert enqueuer.prepare(REPORT, DAY, "default")[0] is HUEY


def test_a_setting_that_djhuey_exits_for_is_an_error_like_others() -> None:
    script = (
        "from django.conf import settings\n"
        "settings.configure(HUEY={'huey_class': 'nowhere.Huey'})\n"
        "from django_dyncron.enqueuers.huey import HueyTaskEnqueuer\n"
        "try:\n    HueyTaskEnqueuer()\n"
        "except ValueError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the setting HUEY does not lead to an instance of Huey\n")


def test_a_worker_sets_up_every_instance() -> None:
    one, other = MemoryHuey("one"), MemoryHuey("other")
    settings = {"ENQUEUER": {"BACKEND": "huey", "OPTIONS": {"queues": {"a": one, "b": other}}}}
    with override_settings(DYNCRON=settings):
        load_worker_modules(get_settings())
        load_worker_modules(get_settings())
    elsewhere, task = HueyTaskEnqueuer(MemoryHuey()).prepare(REPORT, DAY, "default")
    for huey in (one, other):
        huey.storage.enqueue(elsewhere.serialize_task(task))
        assert [each.kwargs for each in huey.pending()] == [{"task_name": REPORT, "payload": DAY}]


def test_who_has_no_workers_says_so() -> None:
    assert HueyTaskEnqueuer(RedisHuey("far", url="redis://127.0.0.1:1/0")).lacks_workers == ""
    assert HueyTaskEnqueuer(MemoryHuey("near")).lacks_workers == "MemoryStorage of Huey"
    now = RedisHuey("now", immediate=True)
    assert HueyTaskEnqueuer(now).lacks_workers == "immediate mode of Huey"
