"""Runs as rows of django-tasks-db: many at once, as its backend makes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.db.models.signals import post_save
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from django_dyncron.core.runs import Outcome
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.enqueuers._django_tasks_api import signals, tasks_api
from django_dyncron.enqueuers.django_tasks import DjangoTasksEnqueuer
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock
from tests.depot import tasks as depot
from tests.django.task_rows.rows import (
    DATABASE,
    DAY,
    PACK,
    REPORT,
    a_run,
    backend,
    enqueue,
    results,
    rows,
    work,
)
from tests.shop import tasks as shop

IMMEDIATE = f"{tasks_api.__name__}.backends.immediate.ImmediateBackend"


def test_a_row_is_as_the_backend_makes_it_but_for_its_id_and_its_run() -> None:
    enqueue(
        a_run(PACK, "reports", payload={"box": "ä"}, options={"priority": 7}),
        a_run(queue="reports", number=8),
    )
    depot.pack.using(priority=7, queue_name="reports").enqueue(box="ä")
    ours, generic, theirs = rows()
    differing = {"id", "enqueued_at", "args_kwargs"}
    names = {field.name for field in ours._meta.concrete_fields} - differing
    assert {name: getattr(ours, name) for name in names} == {
        name: getattr(theirs, name) for name in names
    }
    run = {
        "run_id": "00000000-0000-0000-0000-000000000007",
        "job_id": "morning",
        "scheduled_for": "2026-11-01T05:30:00+00:00",
    }
    assert theirs.args_kwargs == {"args": [], "kwargs": {"box": "ä"}}
    assert ours.args_kwargs == {**theirs.args_kwargs, "django_dyncron": run}
    assert (ours.id, generic.id) == (UUID(int=7), UUID(int=8))
    told = {**run, "run_id": "00000000-0000-0000-0000-000000000008"}
    arguments = {"task_name": REPORT, "payload": DAY, "run": told}
    assert generic.args_kwargs == {"args": [], "kwargs": arguments}


def test_many_rows_are_added_by_as_few_statements_as_one() -> None:
    counts = []
    for first, count in ((0, 1), (1, 50)):
        runs = [a_run(number=first + number) for number in range(count)]
        with CaptureQueriesContext(connection) as queries:
            task_ids = enqueue(*runs)
        counts.append(len(queries))
        assert task_ids == [str(run.run_id) for run in runs]
    assert counts[0] == counts[1]
    assert [row.id.int for row in rows()] == list(range(51))


def test_each_row_is_announced_as_the_backend_does() -> None:
    heard: list[tuple[Any, str, dict[str, Any]]] = []

    def hear(sender: Any, task_result: Any, **_: Any) -> None:
        heard.append((sender.__name__, task_result.id, task_result.kwargs))

    signals.task_enqueued.connect(hear)
    try:
        enqueue(a_run(PACK, payload={"box": "a"}), a_run(PACK, payload={"box": "b"}, number=8))
        enqueue(a_run(PACK, payload={"box": "a"}))
        depot.pack.enqueue(box="c")
    finally:
        signals.task_enqueued.disconnect(hear)
    assert heard[:2] == [
        ("DatabaseBackend", "00000000-0000-0000-0000-000000000007", {"box": "a"}),
        ("DatabaseBackend", "00000000-0000-0000-0000-000000000008", {"box": "b"}),
    ]
    assert [sender for sender, _, _ in heard] == ["DatabaseBackend"] * 3


def test_a_run_that_is_handed_over_again_is_one_row() -> None:
    enqueuer = DjangoTasksEnqueuer()
    again = a_run(number=8)
    assert enqueuer.enqueue_runs_now([a_run(), again, again]) == enqueuer.enqueue_runs_now(
        [a_run(), again, again]
    )
    attempts = async_to_sync(enqueuer.enqueue_runs)([again, a_run(number=9)], lambda: True)
    assert [attempt.outcome for attempt in attempts] == [Outcome.ENQUEUED] * 2
    assert [row.id.int for row in rows()] == [7, 8, 9]


def test_an_enqueue_is_part_of_the_transaction_around_it() -> None:
    enqueuer = DjangoTasksEnqueuer()
    assert enqueuer.transaction_alias() == "default"
    with transaction.atomic():
        enqueuer.enqueue_runs_now([a_run()])
        assert len(results()) == 1
        transaction.set_rollback(True)
    assert results() == []


class Crashing(DjangoTasksEnqueuer):
    """Dies as soon as the rows are in, before the transaction is committed."""

    def enqueue_runs_now(self, runs: Any) -> list[str]:
        super().enqueue_runs_now(runs)
        raise KeyboardInterrupt


async def tick(enqueuer: DjangoTasksEnqueuer) -> None:
    clock = FakeClock("2030-01-01T12:01:00Z")
    await DynamicScheduler(DjangoCronJobRepository(), enqueuer, clock=clock).tick()


def test_a_run_is_claimed_and_enqueued_or_neither() -> None:
    since = datetime(2030, 1, 1, 12, tzinfo=UTC)
    for job_id, payload in (("right", DAY), ("wrong", {}), ("native", {"box": "a"})):
        task_name = PACK if job_id == "native" else REPORT
        CronJob.objects.create(
            job_id=job_id,
            task_name=task_name,
            payload=payload,
            cron_expression="* * * * *",
            plan_from=since,
        )
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(tick(Crashing()))
    assert results() == []
    assert not CronRun.objects.exists()
    asyncio.run(tick(DjangoTasksEnqueuer()))
    runs = CronRun.objects.order_by("job_id")
    assert list(runs.values_list("job_id", "status")) == [
        ("native", "enqueued"),
        ("right", "enqueued"),
        ("wrong", "failed"),
    ]
    assert {str(row.id) for row in rows()} == {run.task_id for run in runs if run.task_id}
    assert len(rows()) == 2


def test_only_database_backends_take_part_in_a_transaction() -> None:
    tasks = {"default": backend(DATABASE), "now": backend(IMMEDIATE)}
    with override_settings(TASKS=tasks):
        assert DjangoTasksEnqueuer().transaction_alias() is None
        assert DjangoTasksEnqueuer(backend="now").transaction_alias() is None
        assert DjangoTasksEnqueuer(backend="default").transaction_alias() == "default"


# --- the backend's own way --------------------------------------------------------------------


def test_the_installed_release_takes_rows() -> None:
    enqueuer = DjangoTasksEnqueuer()
    assert enqueuer.sends_batches
    assert enqueuer.reports_ends
    assert enqueuer.refuses_repeated_ids


@contextmanager
def its_own_ids() -> Iterator[None]:
    with override_settings(TASKS={"default": backend(DATABASE, id_function="uuid.uuid4")}):
        yield


@contextmanager
def a_receiver_of_what_is_saved() -> Iterator[None]:
    from django_tasks_db.models import DBTaskResult

    def hear(**_: Any) -> None: ...

    post_save.connect(hear, sender=DBTaskResult)
    try:
        yield
    finally:
        post_save.disconnect(hear, sender=DBTaskResult)


@contextmanager
def a_backend_that_does_more() -> Iterator[None]:
    from django_tasks_db.backend import DatabaseBackend

    enqueue_only = DatabaseBackend.enqueue

    def enqueue_and_wake(self: Any, task: Any, args: Any, kwargs: Any) -> Any:
        return enqueue_only(self, task, args, kwargs)

    with patch.object(DatabaseBackend, "enqueue", enqueue_and_wake):
        yield


@contextmanager
def another_column() -> Iterator[None]:
    with patch("django_dyncron.enqueuers._django_tasks_rows._COLUMNS", {"id", "status"}):
        yield


@pytest.mark.parametrize(
    "way", [its_own_ids, a_receiver_of_what_is_saved, a_backend_that_does_more, another_column]
)
def test_what_may_do_more_than_add_a_row_is_left_to_itself(
    way: Callable[[], AbstractContextManager[None]],
) -> None:
    runs = [a_run(), a_run(PACK, payload={"box": "a"}), a_run(number=8)]
    with way():
        enqueuer = DjangoTasksEnqueuer()
        assert not enqueuer.sends_batches
        assert not enqueuer.reports_ends
        assert not enqueuer.refuses_repeated_ids
        task_ids = enqueuer.enqueue_runs_now(runs)
        task_ids += [
            attempt.task_id
            for attempt in async_to_sync(enqueuer.enqueue_runs)(runs[:1], lambda: True)
        ]
        assert [str(row.id) for row in rows()] == task_ids
        assert not {str(run.run_id) for run in runs} & set(task_ids)
        work()
    assert [run and run.run_id.int for run in shop.runs] == [7, 8, 7]
    assert depot.calls == [("a", 1)]
