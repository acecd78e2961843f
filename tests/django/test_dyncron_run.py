"""``dyncron_run``: one run, from this process, at once."""

from __future__ import annotations

import getpass
import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_dyncron import EnqueueError, EnqueueNotSent, ITaskEnqueuer
from django_dyncron.core.definitions import Run
from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.models import CronJob, CronRun, Replica
from django_dyncron.pausing import pause_all
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import InMemoryRepository
from tests.shop import tasks as shop

pytestmark = pytest.mark.django_db(transaction=True)


class Queue(ITaskEnqueuer):
    """A queue that takes anything, or raises what a test wants it to."""

    sent: list[Run] = []
    raises: Exception | None = None

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        raise AssertionError("runs are handed over as runs")

    async def enqueue_run(self, run: Run) -> str:
        if Queue.raises is not None:
            raise Queue.raises
        Queue.sent.append(run)
        return "task-7"


@pytest.fixture(autouse=True)
def dyncron(settings: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")
    shop.calls.clear()
    shop.runs.clear()
    Queue.sent, Queue.raises = [], None
    dyncron: dict[str, Any] = {"ENQUEUERS": {"queue": f"{__name__}.Queue"}}
    settings.DYNCRON = dyncron
    return dyncron


def add(job_id: str = "report", **values: Any) -> CronJob:
    defaults = {
        "task_name": "tests.shop.tasks.build_report",
        "payload": {"day": "today"},
        "cron_expression": "* * * * *",
    }
    job: CronJob = CronJob.objects.create(job_id=job_id, **{**defaults, **values})
    return job


def call(*arguments: str) -> str:
    output = StringIO()
    call_command("dyncron_run", *arguments, stdout=output)
    return output.getvalue().strip()


def the_run() -> CronRun:
    return CronRun.objects.get()


def test_a_local_task_runs_here_and_is_waited_for() -> None:
    add()
    assert re.fullmatch(r"report: succeeded in \d+\.\d s", call("report"))
    assert shop.calls == [("build_report", ("today", False))]
    run = the_run()
    assert (run.kind, run.status, run.asked_by) == ("manual", "succeeded", "ann (manage.py)")
    assert (run.attempts, run.lease_until, run.scheduled_for) == (1, None, None)
    assert shop.runs[0] is not None
    assert shop.runs[0].run_id == run.pk


def test_a_task_that_fails_is_told_and_exits_with_1() -> None:
    add(task_name="tests.shop.tasks.fail", payload={})
    with pytest.raises(CommandError) as caught:
        call("report")
    assert str(caught.value) == "report: failed: RuntimeError: out of paper"
    assert caught.value.returncode == 1
    assert (the_run().status, the_run().error) == ("failed", "RuntimeError: out of paper")


def test_a_queue_gets_the_run_and_its_identity() -> None:
    add(enqueuer="queue", queue="slow")
    assert call("report") == 'report: handed to the queue "slow", task task-7'
    (sent,) = Queue.sent
    run = the_run()
    assert (sent.run_id, sent.payload, sent.queue) == (run.pk, {"day": "today"}, "slow")
    assert (run.status, run.task_id, run.attempts) == ("enqueued", "task-7", 1)


def test_nothing_else_is_touched() -> None:
    add()
    due = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=3)
    add("due", enqueuer="queue", plan_from=due)
    CronRun.objects.create(
        id="5b0f6a52-0d3f-4b6e-9c55-111111111111",
        job_id="due",
        status="claimed",
        task_name="tests.shop.tasks.build_report",
        enqueuer="queue",
        lease_until=due,
    )
    before = list(CronJob.objects.order_by("pk").values())
    call("report")
    assert list(CronJob.objects.order_by("pk").values()) == before
    assert Queue.sent == []
    assert CronRun.objects.filter(job_id="due").values_list("status", "attempts").get() == (
        "claimed",
        0,
    )
    # It is no scheduler: nobody must take it for one.
    assert not Replica.objects.exists()


def test_it_runs_whether_or_not_anything_is_paused() -> None:
    add(is_active=False)
    pause_all()
    assert call("report").startswith("report: succeeded")
    assert not CronJob.objects.get().is_active


@pytest.mark.parametrize(
    "error, words, replica",
    [
        (EnqueueNotSent("The broker is away."), "The broker is away", ""),
        (EnqueueError("No answer."), "No answer", "ours"),
    ],
)
def test_what_a_queue_does_not_take_is_left_to_schedulers(
    error: Exception, words: str, replica: str
) -> None:
    add(enqueuer="queue")
    Queue.raises = error
    with pytest.raises(CommandError) as caught:
        call("report")
    assert str(caught.value) == f"report: not handed over yet: {words}. A scheduler tries again."
    assert (the_run().status, bool(the_run().replica)) == ("claimed", bool(replica))
    CronJob.objects.update(is_active=False)
    Queue.raises = None
    call_command("run_dyncron", "--once")
    assert [sent.run_id for sent in Queue.sent] == [the_run().pk]
    assert (the_run().status, the_run().attempts) == ("enqueued", 2)


def test_one_that_may_be_sent_once_only_is_not_sent_again() -> None:
    add(enqueuer="queue", delivery="at_most_once")
    Queue.raises = EnqueueError("No answer.")
    with pytest.raises(CommandError, match=r"^report: unknown: No answer$"):
        call("report")
    Queue.raises = None
    CronJob.objects.update(is_active=False)
    call_command("run_dyncron", "--once")
    assert Queue.sent == []


@pytest.mark.parametrize("job_id", ["reprot", "reports", "REPORT"])
def test_an_unknown_job_is_told_with_the_one_that_may_be_meant(job_id: str) -> None:
    add()
    with pytest.raises(CommandError) as caught:
        call(job_id)
    assert str(caught.value) == f'There is no cron job "{job_id}". Did you mean "report"?'


def test_what_no_queue_would_take_is_told_by_field_and_not_recorded() -> None:
    add(payload={"night": 1})
    with pytest.raises(CommandError) as caught:
        call("report")
    assert str(caught.value).startswith("payload: build_report takes (day, *, full=False)")
    assert not CronRun.objects.exists()


def test_a_schedule_that_is_wrong_is_no_matter() -> None:
    add(cron_expression="61 * * * *")
    assert call("report").startswith("report: succeeded")


@pytest.mark.parametrize(
    "values, words",
    [
        ({"DATABASE": "elsewhere"}, 'DYNCRON["DATABASE"] is "elsewhere"'),
        ({"ENQUEUER": "locl"}, "DYNCRON[\"ENQUEUER\"] is 'locl'"),
        ({"REPOSITORY": f"{__name__}.OwnRepository"}, "REPOSITORY is one of your own"),
    ],
)
def test_a_wrong_setting_is_told(
    dyncron: dict[str, Any], values: dict[str, str], words: str
) -> None:
    add()
    dyncron |= values
    with pytest.raises(CommandError) as caught:
        call("report")
    assert str(caught.value).startswith(words)
    assert not CronRun.objects.exists()


class OwnRepository(InMemoryRepository):
    """A store that is not the table."""


class AwayRepository(DjangoCronJobRepository):
    """A database that goes away once the run is recorded."""

    async def sweep(self, order: Any) -> Any:
        raise StoreUnavailable("The database is away.")


def test_a_database_that_goes_away_leaves_the_run_to_schedulers(dyncron: dict[str, Any]) -> None:
    add(enqueuer="queue")
    with_away = {**dyncron}
    dyncron["REPOSITORY"] = f"{__name__}.AwayRepository"
    with pytest.raises(CommandError, match=r"^The database is away\.$"):
        call("report")
    run = the_run()
    assert (run.status, run.attempts) == ("claimed", 0)
    assert run.lease_until is not None
    assert timedelta(seconds=50) < run.lease_until - run.created_at < timedelta(seconds=70)
    dyncron.clear()
    dyncron |= with_away
    CronJob.objects.update(is_active=False)
    CronRun.objects.update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
    call_command("run_dyncron", "--once")
    assert [sent.run_id for sent in Queue.sent] == [run.pk]


def test_it_works_in_the_database_of_the_option(other_database: str) -> None:
    values = {"payload": {"day": "there"}, "cron_expression": "@daily"}
    task = "tests.shop.tasks.build_report"
    CronJob.objects.using(other_database).create(job_id="there", task_name=task, **values)
    assert call("there", "--database", other_database).startswith("there: succeeded")
    assert CronRun.objects.using(other_database).get().status == "succeeded"
    assert not CronRun.objects.exists()
