"""From a name to what the local enqueuer calls, whatever its module does when imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers import local
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.django.local.pool import DAY, Journal, a_run, idle, send
from tests.shop import tasks


async def test_what_can_never_run_is_refused_and_the_rest_goes_on(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    outcomes = await send(
        enqueuer,
        a_run("system", 1),
        a_run("build_report", 2, dya="?"),
        a_run("ping", 3, url="/"),
    )
    assert outcomes == [Outcome.REFUSED, Outcome.REFUSED, Outcome.STARTED_HERE]
    await idle(enqueuer)
    assert journal.events == [("start", "job-3", ""), ("finish", "job-3", "")]


async def test_a_function_may_be_allowed_by_the_settings(enqueuer: LocalTaskEnqueuer) -> None:
    assert await send(enqueuer, a_run("restock", count=3)) == [Outcome.REFUSED]
    with override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*"]}):
        assert await send(enqueuer, a_run("restock", count=3)) == [Outcome.STARTED_HERE]
        await idle(enqueuer)
    assert tasks.calls == [("restock", 3)]


async def test_a_fault_in_looking_a_task_up_is_of_one_run_alone(
    enqueuer: LocalTaskEnqueuer, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(name: str) -> Callable[..., Any]:
        if name.endswith("fail"):
            raise RuntimeError("a bug")
        return tasks.ping

    monkeypatch.setattr(local, "resolve_task", resolve)
    runs = [a_run("fail"), a_run("ping", 2, url="/")]
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [Outcome.NOT_SENT, Outcome.STARTED_HERE]
    assert attempts[0].error == "RuntimeError: a bug"


MODULES = {
    "counts_jobs": "from django_dyncron.models import CronJob\ncount = CronJob.objects.count()",
    "starts_loops": "import asyncio\nasyncio.run(asyncio.sleep(0))",
    "exits": "raise SystemExit(2)",
    "breaks": "1 / 0",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    """Modules that may be run from and do odd things when they are imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, body in MODULES.items():
        (tmp_path / f"{name}.py").write_text(f"{body}\ndef work(): pass\n")
    settings.DYNCRON = {"ALLOWED_TASKS": [f"{name}.work" for name in MODULES]}
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("modules")
async def test_a_module_may_do_anything_when_it_is_imported(
    enqueuer: LocalTaskEnqueuer, journal: Journal
) -> None:
    runs = [
        replace(a_run("ping", number), task_name=f"{name}.work")
        for number, name in enumerate(MODULES, 1)
    ]
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [attempt.outcome for attempt in attempts] == [
        Outcome.STARTED_HERE,
        Outcome.STARTED_HERE,
        Outcome.REFUSED,
        Outcome.REFUSED,
    ]
    assert attempts[2].error == "'exits' cannot be imported: SystemExit: 2"
    assert attempts[3].error == "'breaks' cannot be imported: ZeroDivisionError: division by zero"
    await idle(enqueuer)
    assert ("finish", "job-1", "") in journal.events
    assert ("finish", "job-2", "") in journal.events


def test_checking_needs_no_event_loop() -> None:
    enqueuer = LocalTaskEnqueuer()
    enqueuer.check_task("tests.shop.tasks.build_report", DAY, "any queue")
    with pytest.raises(EnqueueRefused, match="missing a required argument: 'day'"):
        enqueuer.check_task("tests.shop.tasks.build_report", {}, "any queue")
