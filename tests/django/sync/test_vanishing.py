"""Jobs that the code no longer declares, declares again, or finds made by somebody else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.management import CommandError

from django_dyncron.models import CronJob, Origin
from django_dyncron.pausing import resume
from tests.django.sync.conftest import Declare, Sync

pytestmark = pytest.mark.django_db

Undeclare = Callable[[str], None]


@pytest.fixture
def vanishing(declare: Declare, undeclare: Undeclare, sync: Sync) -> None:
    """Two jobs synced, of which one is no longer declared."""
    declare("gone")
    declare("stays")
    sync()
    undeclare("gone")


def row(job_id: str) -> CronJob:
    job: CronJob = CronJob.objects.get(job_id=job_id)
    return job


@pytest.mark.usefixtures("vanishing")
def test_what_vanishes_is_flagged_and_goes_on(sync: Sync) -> None:
    assert sync() == [
        "vanished  gone: it still runs",
        "--prune pauses what is no longer declared.",
        "1 vanished, 1 unchanged.",
    ]
    assert (row("gone").has_vanished, row("gone").is_active) == (True, True)
    assert not row("stays").has_vanished
    # Told of as long as it runs.
    assert sync()[0] == "vanished  gone: it still runs"


@pytest.mark.usefixtures("vanishing")
def test_a_check_passes_only_once_it_runs_no_more(sync: Sync) -> None:
    for _ in range(2):
        with pytest.raises(CommandError, match=r"^The table does not follow the code\.$"):
            sync("--check")
        sync()
    sync("--prune")
    assert sync("--check") == ["Nothing is written. 1 unchanged."]


@pytest.mark.usefixtures("vanishing")
def test_one_that_was_deleted_is_gone_and_one_still_declared_is_made_again(sync: Sync) -> None:
    sync()
    row("gone").delete()
    row("stays").delete()
    assert sync() == ["created   stays", "1 created, 0 unchanged."]
    assert row("stays").is_active


@pytest.mark.usefixtures("vanishing")
def test_pruning_pauses_and_deletes_nothing(sync: Sync) -> None:
    assert sync("--prune") == ["pruned    gone", "1 pruned, 1 unchanged."]
    job = row("gone")
    assert (job.has_vanished, job.is_active) == (True, False)
    assert job.pause_reason == "No longer declared in code."
    assert sync("--prune") == ["1 unchanged."]


@pytest.mark.usefixtures("vanishing")
def test_one_that_is_paused_is_told_of_once(sync: Sync) -> None:
    CronJob.objects.filter(job_id="gone").update(is_active=False, pause_reason="Ann")
    assert sync("--prune")[0] == "vanished  gone"
    assert row("gone").pause_reason == "Ann"
    assert sync() == ["1 unchanged."]


@pytest.mark.usefixtures("vanishing")
def test_one_that_comes_back_is_no_longer_flagged(declare: Declare, sync: Sync) -> None:
    sync()
    declare("gone", expression="30 7 * * *")
    assert sync() == [
        "returned  gone",
        'updated   gone: cron_expression: "0 6 * * *" → "30 7 * * *"',
        "1 updated, 1 returned, 1 unchanged.",
    ]
    assert not row("gone").has_vanished


@pytest.mark.usefixtures("vanishing")
def test_one_that_was_pruned_comes_back_paused_and_waits_for_a_person(
    declare: Declare, sync: Sync
) -> None:
    sync("--prune")
    declare("gone")
    assert sync() == [
        "returned  gone",
        "paused    gone: it was pruned and is declared again",
        "dyncron_resume JOB_ID starts again what was pruned.",
        "1 returned, 1 paused, 1 unchanged.",
    ]
    assert not row("gone").is_active
    assert sync()[0] == "paused    gone: it was pruned and is declared again"
    resume(CronJob.objects.filter(job_id="gone"))
    assert sync() == ["2 unchanged."]


def test_a_code_base_that_declares_nothing_does_not_pause_everything(
    declare: Declare, undeclare: Undeclare, sync: Sync
) -> None:
    declare("report")
    sync()
    undeclare("report")
    with pytest.raises(CommandError, match="No job is declared, so pruning would pause all"):
        sync("--prune")
    assert row("report").is_active
    assert sync()[0] == "vanished  report: it still runs"


@pytest.mark.parametrize(
    "origin, words", [(Origin.HAND, "made by hand"), (Origin.IMPORT, "imported")]
)
def test_a_row_that_the_code_has_not_made_is_left_alone(
    declare: Declare, sync: Sync, origin: Origin, words: str
) -> None:
    CronJob.objects.create(job_id="report", task_name="a.b", cron_expression="@daily")
    CronJob.objects.update(origin=origin)
    before = CronJob.objects.values().get()
    declare("report")
    assert sync() == [
        f"taken     report: the row is {words}",
        "--adopt JOB_ID takes over a row that the code has not made.",
        "1 taken, 0 unchanged.",
    ]
    assert CronJob.objects.values().get() == before


def test_adopting_makes_the_row_the_code_s(declare: Declare, sync: Sync) -> None:
    CronJob.objects.create(
        job_id="report",
        task_name="tests.shop.tasks.build_report",
        cron_expression="@daily",
        payload={"day": "today"},
        description="Ask Ann.",
        is_active=False,
        pause_reason="The bank is down.",
    )
    declare("report", time_zone="Europe/Berlin", is_active=True)
    assert sync("--adopt", "report")[0] == (
        'adopted   report: cron_expression: "@daily" → "0 6 * * *"; '
        'time_zone: "" → "Europe/Berlin"; queue: "default" → "reports"; it stays paused'
    )
    job = row("report")
    assert (job.origin, job.cron_expression, job.time_zone) == (
        "code",
        "0 6 * * *",
        "Europe/Berlin",
    )
    assert (job.description, job.is_active, job.pause_reason) == (
        "Ask Ann.",
        False,
        "The bank is down.",
    )
    assert sync() == ["1 unchanged."]


def test_adopting_without_a_name_takes_them_all(declare: Declare, sync: Sync) -> None:
    for job_id in ("a", "b"):
        CronJob.objects.create(job_id=job_id, task_name="a.b", cron_expression="@daily")
        declare(job_id)
    CronJob.objects.create(job_id="by-hand", task_name="a.b", cron_expression="@daily")
    assert sync("--adopt")[-1] == "2 adopted, 0 unchanged."
    assert row("by-hand").origin == ""
