"""What every enqueuer of this package promises, whatever its queue."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import django
import pytest
from django.test import override_settings

from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.ports import ITaskEnqueuer
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers.django_tasks import DjangoTasksEnqueuer
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.shop import tasks

FLAVOUR = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
REPORT = "tests.shop.tasks.build_report"
DAY: dict[str, Any] = {"day": "2026-11-01"}
ACCEPTED = {Outcome.ENQUEUED, Outcome.STARTED_HERE}


@dataclass
class Site:
    """An enqueuer to try, and whether it can tell a queue that exists from one that does not."""

    make: Callable[[], ITaskEnqueuer]
    knows_queues: bool


SITES = {
    "local": Site(lambda: LocalTaskEnqueuer(max_workers=8), knows_queues=False),
    "django_tasks": Site(DjangoTasksEnqueuer, knows_queues=True),
}


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest) -> Site:
    return SITES[request.param]


@pytest.fixture
async def enqueuer(site: Site) -> AsyncIterator[ITaskEnqueuer]:
    tasks.calls.clear()
    immediate = f"{FLAVOUR}.backends.immediate.ImmediateBackend"
    with override_settings(
        TASKS={"default": {"BACKEND": immediate, "QUEUES": ["default", "mail"]}}
    ):
        enqueuer = site.make()
        yield enqueuer
        await enqueuer.drain(timedelta(seconds=10))
        await enqueuer.aclose()


async def done(enqueuer: ITaskEnqueuer) -> list[tuple[str, Any]]:
    """Wait for what was accepted and return what the tasks did."""
    assert list(await enqueuer.drain(timedelta(seconds=10))) == []
    return tasks.calls


def a_run(number: int = 1, **others: Any) -> Run:
    slot = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    run = Run(UUID(int=number), f"job-{number}", REPORT, DAY, "default", slot)
    return replace(run, **others)


NEVER = [
    ("tests.shop.tasks.nothing", DAY, "task_name"),
    ("no_such_task", DAY, "task_name"),
    ("", DAY, "task_name"),
    ("os.system", {"command": "true"}, "task_name"),
    ("tests.shop.tasks.system", {"command": "true"}, "task_name"),
    ("tests.shop.tasks.restock", {}, "task_name"),
    (REPORT, {"day": "d", "fool": True}, "payload"),
    (REPORT, {}, "payload"),
    (REPORT, ["2026-11-01"], "payload"),
    (REPORT, "2026-11-01", "payload"),
    (REPORT, None, "payload"),
]
never = pytest.mark.parametrize("task_name, payload, field", NEVER)


@never
async def test_what_can_never_work_is_refused_naming_the_column(
    enqueuer: ITaskEnqueuer, task_name: str, payload: Any, field: str
) -> None:
    with pytest.raises(EnqueueRefused) as caught:
        await enqueuer.enqueue_task(task_name, payload, "default")
    assert caught.value.field == field
    assert await done(enqueuer) == []


@never
async def test_checking_a_task_agrees_with_enqueuing_it(
    enqueuer: ITaskEnqueuer, task_name: str, payload: Any, field: str
) -> None:
    with pytest.raises(EnqueueRefused) as checked:
        enqueuer.check_task(task_name, payload, "default")
    with pytest.raises(EnqueueRefused) as enqueued:
        await enqueuer.enqueue_task(task_name, payload, "default")
    assert str(checked.value) == str(enqueued.value)
    assert checked.value.field == enqueued.value.field


@pytest.mark.parametrize(
    "task_name, payload, call",
    [
        (REPORT, DAY, ("build_report", ("2026-11-01", False))),
        ("tests.shop.tasks.ping", {"url": "/"}, ("ping", "/")),
    ],
    ids=["sync", "async"],
)
async def test_a_background_task_is_run_with_its_payload(
    enqueuer: ITaskEnqueuer, task_name: str, payload: dict[str, Any], call: object
) -> None:
    enqueuer.check_task(task_name, payload, "mail")
    await enqueuer.enqueue_task(task_name, payload, "mail")
    assert await done(enqueuer) == [call]


async def test_a_queue_the_system_does_not_know_is_refused(
    enqueuer: ITaskEnqueuer, site: Site
) -> None:
    (attempt,) = await enqueuer.enqueue_runs([a_run(queue="nowhere")], lambda: True)
    assert (attempt.outcome is Outcome.REFUSED) is site.knows_queues
    assert (attempt.outcome in ACCEPTED) is not site.knows_queues


async def test_runs_are_isolated_from_each_other(enqueuer: ITaskEnqueuer) -> None:
    runs = [
        a_run(1, task_name="os.system"),
        a_run(2),
        a_run(3, payload={"fool": 1}),
        a_run(4, task_name="tests.shop.tasks.fail", payload={}),
        a_run(5),
    ]
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [attempt.run for attempt in attempts] == runs
    accepted = [attempt.outcome in ACCEPTED for attempt in attempts]
    assert accepted == [False, True, False, True, True]
    refused = [attempt for attempt in attempts if attempt.outcome is Outcome.REFUSED]
    assert len(refused) == 2
    assert all(attempt.error and "\n" not in attempt.error for attempt in refused)
    assert await done(enqueuer) == [("build_report", ("2026-11-01", False))] * 2


async def test_nothing_is_sent_without_leave(enqueuer: ITaskEnqueuer) -> None:
    answers = iter([True, False, False])
    runs = [a_run(1), a_run(2), a_run(3)]
    attempts = await enqueuer.enqueue_runs(runs, lambda: next(answers))
    assert attempts[0].outcome in ACCEPTED
    assert [attempt.outcome for attempt in attempts[1:]] == [Outcome.UNTRIED] * 2
    assert len(await done(enqueuer)) == 1


async def test_no_runs_are_no_trouble(enqueuer: ITaskEnqueuer) -> None:
    assert list(await enqueuer.enqueue_runs([], lambda: True)) == []
    assert list(enqueuer.in_hand()) == []


async def test_the_payload_is_not_touched(enqueuer: ITaskEnqueuer) -> None:
    payload = {"day": {"deep": [1, 2]}, "full": True}
    await enqueuer.enqueue_task(REPORT, payload, "default")
    await done(enqueuer)
    assert payload == {"day": {"deep": [1, 2]}, "full": True}
    assert tasks.calls == [("build_report", ({"deep": [1, 2]}, True))]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("how", ["enqueue_task", "enqueue_run", "enqueue_runs"])
async def test_a_task_s_module_may_use_the_orm_when_it_is_imported(
    enqueuer: ITaskEnqueuer, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sys.modules.pop("late_tasks", None)
    (tmp_path / "late_tasks.py").write_text(
        "from django_dyncron.models import CronJob\n"
        "from tests.shop.tasks import calls\n"
        "count = CronJob.objects.count()\n"
        "def work(): calls.append(('work', count))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    run = a_run(task_name="late_tasks.work", payload={})
    with override_settings(DYNCRON={"ALLOWED_TASKS": ["late_tasks.*"]}):
        if how == "enqueue_task":
            await enqueuer.enqueue_task("late_tasks.work", {}, "default")
        elif how == "enqueue_run":
            await enqueuer.enqueue_run(run)
        else:
            (attempt,) = await enqueuer.enqueue_runs([run], lambda: True)
            assert attempt.outcome in ACCEPTED
        assert await done(enqueuer) == [("work", 0)]
