"""``tick_at``: what a project's own tests ask of its cron jobs."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.test import SimpleTestCase, TestCase, TransactionTestCase, override_settings

from django_dyncron import CronJobDefinition, ICronJobRepository, ITaskEnqueuer, cron_job
from django_dyncron.conf import ConfigurationError
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.models import CronJob, CronLock, CronRun, Pause, Replica
from django_dyncron.registry import declared_jobs, jobs
from django_dyncron.testing import atick_at, tick_at
from tests.shop import tasks

MORNING = {
    "job_id": "morning-report",
    "task_name": "tests.shop.tasks.build_report",
    "cron_expression": "0 6 * * *",
    "payload": {"day": "today"},
    "queue": "reports",
}
SIX = "2026-11-30T06:00Z"
TABLES = (CronJob, CronRun, CronLock, Pause, Replica)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def definition(**values: Any) -> CronJobDefinition:
    return CronJobDefinition(**(MORNING | values))


def due(moment: datetime | str, **values: Any) -> list[str]:
    """Return the job ids at ``moment`` of the morning report changed by ``values``."""
    return [run.job_id for run in tick_at(moment, [definition(**values)])]


def failure(moment: str = SIX, **values: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        due(moment, **values)
    return str(caught.value)


# --- jobs in the table ----------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_job_in_the_table_is_due_at_its_minute() -> None:
    CronJob.objects.create(**MORNING)
    (run,) = tick_at(SIX)
    assert (run.job_id, run.task_name, run.payload, run.queue) == (
        "morning-report",
        "tests.shop.tasks.build_report",
        {"day": "today"},
        "reports",
    )
    assert run.scheduled_for == datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
    assert run.run_id == UUID("acf10e10-2378-5b9e-9082-60444df2843a")
    assert tick_at("2026-11-30T05:59Z") == []
    assert tick_at("2026-11-30T06:01Z") == []


@pytest.mark.django_db
def test_when_a_job_was_made_does_not_matter() -> None:
    CronJob.objects.create(**MORNING)
    assert len(tick_at("1999-12-31T06:00Z")) == 1
    # Nor are the days in between missed slots.
    assert len(tick_at("2199-12-31T06:00Z")) == 1


@pytest.mark.django_db
def test_a_pause_of_everything_counts() -> None:
    CronJob.objects.create(**MORNING)
    Pause.objects.create(since=at("2026-11-30T05:00Z"), until=at("2026-12-01T06:00Z"))
    assert [len(tick_at(f"2026-{day}T06:00Z")) for day in ("11-29", "11-30", "12-01")] == [1, 0, 1]


@pytest.mark.django_db
def test_a_pause_that_ended_long_ago_counts_at_its_time() -> None:
    CronJob.objects.create(**MORNING)
    Pause.objects.create(since=at("2019-11-30T05:00Z"), until=at("2019-12-01T06:00Z"))
    assert [len(tick_at(f"2019-{day}T06:00Z")) for day in ("11-29", "11-30", "12-01")] == [1, 0, 1]


@pytest.mark.django_db
def test_the_seconds_do_not_matter_to_a_pause() -> None:
    CronJob.objects.create(**MORNING)
    Pause.objects.create(since=at("2019-11-30T05:59Z"), until=at("2019-11-30T06:00:10Z"))
    Pause.objects.create(since=at("2019-12-01T06:00:10Z"), until=at("2019-12-01T06:01Z"))
    ask = ("11-30T06:00:05Z", "11-30T06:00:59Z", "12-01T06:00:05Z", "12-01T06:00:59Z")
    assert [len(tick_at(f"2019-{moment}")) for moment in ask] == [0, 0, 1, 1]


@pytest.mark.django_db
def test_nothing_is_left_behind_and_nothing_is_run() -> None:
    CronJob.objects.create(**MORNING)
    before = [list(table.objects.values()) for table in TABLES]
    calls = list(tasks.calls)
    assert tick_at(SIX) == tick_at(SIX) != []
    assert [list(table.objects.values()) for table in TABLES] == before
    assert tasks.calls == calls


@pytest.mark.django_db
def test_a_job_in_the_table_with_a_wrong_payload_fails_the_test() -> None:
    CronJob.objects.create(**(MORNING | {"payload": {"fulll": True}}))
    CronJob.objects.create(**(MORNING | {"job_id": "evening", "queue": "late"}))
    with pytest.raises(AssertionError) as caught:
        tick_at(SIX)
    assert str(caught.value) == (
        "Cron jobs would fail at 2026-11-30 06:00 UTC:\n"
        "  morning-report: build_report takes (day, *, full=False): "
        "missing a required argument: 'day'."
    )
    assert tick_at("2026-11-30T07:00Z") == []


class InTestCase(TestCase):
    """Within the transaction that Django's own test case is."""

    @classmethod
    def setUpTestData(cls) -> None:
        CronJob.objects.create(**MORNING)

    def test_tick_at(self) -> None:
        assert [run.job_id for run in tick_at(SIX)] == ["morning-report"]

    async def test_atick_at(self) -> None:
        assert [run.job_id for run in await atick_at(SIX)] == ["morning-report"]


class InTransactionTestCase(TransactionTestCase):
    """Outside of any transaction."""

    def test_tick_at(self) -> None:
        CronJob.objects.create(**MORNING)
        assert [run.job_id for run in tick_at(SIX)] == ["morning-report"]
        assert CronRun.objects.count() == 0


class WithoutADatabase(SimpleTestCase):
    """Where a query would be an error."""

    def test_tick_at(self) -> None:
        assert due(SIX) == ["morning-report"]


@pytest.mark.django_db(transaction=True)
async def test_a_coroutine_may_ask_too() -> None:
    await CronJob.objects.acreate(**MORNING)
    assert [run.job_id for run in await atick_at(SIX)] == ["morning-report"]
    with pytest.raises(RuntimeError, match="event loop"):
        tick_at(SIX)


# --- jobs that are given --------------------------------------------------------------------------


def test_declared_jobs_need_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_jobs", {})
    cron_job("*/15 * * * *", job_id="ping", payload={"url": "/"}, queue="net")(tasks.ping)
    cron_job("0 6 * * MON", job_id="monday", payload={"day": "x"})(tasks.build_report)
    cron_job("0 6 * * *", job_id="off", payload={"url": "/"}, is_active=False)(tasks.ping)
    ask = [SIX, "2026-12-01T06:00Z", "2026-12-01T06:15:59Z", "2026-12-01T06:16Z"]
    assert [[run.job_id for run in tick_at(moment, declared_jobs())] for moment in ask] == [
        ["monday", "ping"],
        ["ping"],
        ["ping"],
        [],
    ]


def test_a_row_need_not_be_saved() -> None:
    assert [run.job_id for run in tick_at(SIX, [CronJob(**MORNING)])] == ["morning-report"]


def test_several_jobs_come_in_the_order_of_their_ids() -> None:
    several = [definition(job_id=job_id) for job_id in ("c", "a", "b")]
    assert [run.job_id for run in tick_at(SIX, several)] == ["a", "b", "c"]
    many = [definition(job_id=f"{number:04}") for number in range(1200)]
    assert len(tick_at(SIX, many)) == 1200


class ListedJobs(ICronJobRepository):
    async def get_active_jobs(self) -> list[CronJobDefinition]:
        return [definition(job_id="from-afar")]

    async def update_last_run(self, job_id: str, run_time: datetime) -> None:
        raise AssertionError("Nothing is to be written.")


@override_settings(DYNCRON={"REPOSITORY": f"{__name__}.ListedJobs"})
def test_a_repository_of_the_project_s_own_is_asked() -> None:
    assert [run.job_id for run in tick_at(SIX)] == ["from-afar"]


# --- moments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "moment, expected",
    [
        ("2026-11-30T06:00:59.999999Z", 1),
        ("2026-11-30T05:59:59.999999Z", 0),
        ("2026-11-30T08:00+02:00", 1),
        ("2026-11-30T06:00+02:00", 0),
        (datetime(2026, 11, 30, 7, 0, 30, tzinfo=timezone(timedelta(hours=1))), 1),
    ],
)
def test_a_moment_is_any_in_the_minute_of_the_slot(moment: datetime | str, expected: int) -> None:
    assert len(due(moment)) == expected
    # However seldom the scheduler looks: it wakes up for a slot.
    with override_settings(DYNCRON={"TICK_INTERVAL_SECONDS": 3600}):
        assert len(due(moment)) == expected


@pytest.mark.parametrize("moment", ["2026-11-30T06:00", "2026-11-30", datetime(2026, 11, 30)])  # noqa: DTZ001
def test_a_moment_has_a_zone(moment: datetime | str) -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        due(moment)


def test_a_job_is_read_in_its_zone_or_the_project_s() -> None:
    assert due("2026-07-01T04:00Z", time_zone="Europe/Berlin") == ["morning-report"]
    assert due("2026-12-01T05:00Z", time_zone="Europe/Berlin") == ["morning-report"]
    with override_settings(DYNCRON={"TIME_ZONE": "Asia/Tokyo"}):
        assert due("2026-11-30T21:00Z") == ["morning-report"]
        assert due(SIX) == []


# --- policies -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, expected",
    [
        ({"is_active": False}, 0),
        ({"starts_at": at("2026-11-30T06:00Z")}, 1),
        ({"starts_at": at("2026-11-30T06:00:01Z")}, 0),
        ({"ends_at": at("2026-11-30T06:00Z")}, 1),
        ({"ends_at": at("2026-11-30T05:59Z")}, 0),
        ({"misfire_policy": "skip"}, 1),
        ({"misfire_policy": "fire_all"}, 1),
        ({"overlap_policy": "skip"}, 1),
        ({"jitter_seconds": 3600}, 1),
        ({"next_run_at": at("2030-01-01T06:00Z"), "last_run_at": at("2030-01-01T06:00Z")}, 1),
    ],
)
def test_the_fields_of_a_job_count(values: dict[str, Any], expected: int) -> None:
    assert len(due("2026-11-30T06:00:30Z", **values)) == expected


# --- what would fail ------------------------------------------------------------------------------


class Choosy(ITaskEnqueuer):
    """Takes what has a colour, from its own queues."""

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> Any:
        raise AssertionError("Nothing is to be sent.")

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        if queue == "boom":
            raise ZeroDivisionError("by zero")
        # As a module may that is imported only now.
        CronJob.objects.exists()

    def check_options(self, options: Any) -> None:
        if "colour" not in options:
            raise EnqueueRefused("A colour is missing.", field="options")


CHOOSY = {"ENQUEUERS": {"choosy": f"{__name__}.Choosy"}}


@override_settings(DYNCRON=CHOOSY)
@pytest.mark.django_db
def test_each_job_is_judged_by_the_enqueuer_it_chose() -> None:
    CronJob.objects.create(**MORNING, enqueuer="choosy", options={"colour": "red"})
    CronJob.objects.create(**(MORNING | {"job_id": "default"}))
    runs = tick_at(SIX)
    assert [(run.job_id, run.enqueuer, run.options) for run in runs] == [
        ("default", "", {}),
        ("morning-report", "choosy", {"colour": "red"}),
    ]
    CronJob.objects.update(options={}, enqueuer="choosy")
    with pytest.raises(AssertionError) as caught:
        tick_at(SIX)
    assert str(caught.value) == (
        "Cron jobs would fail at 2026-11-30 06:00 UTC:\n"
        "  default: A colour is missing.\n"
        "  morning-report: A colour is missing."
    )


@override_settings(DYNCRON=CHOOSY)
@pytest.mark.parametrize(
    "values, words",
    [
        ({"task_name": "os.system"}, "'os.system' is not a registered task"),
        ({"payload": {"day": 1, "dya": 2}}, "got an unexpected keyword argument 'dya'"),
        ({"payload": ["today"]}, "The payload must be an object of keyword arguments"),
        ({"enqueuer": "nowhere"}, "There is no enqueuer named 'nowhere': use one of choosy, def"),
        ({"enqueuer": "choosy", "queue": "boom"}, "morning-report: ZeroDivisionError: by zero"),
        ({"cron_expression": "0 25 * * *"}, "morning-report: Hour '25': use 0–23"),
        ({"time_zone": "Mars/Base"}, "Mars/Base"),
        ({"misfire_policy": "often"}, "misfire_policy 'often' is unknown"),
    ],
)
def test_what_would_fail_is_said_in_words(values: dict[str, Any], words: str) -> None:
    assert words in failure(**values)


def test_a_job_that_cannot_be_scheduled_fails_at_any_moment() -> None:
    assert failure("2026-11-30T17:23Z", cron_expression="0 25 * * *").startswith(
        "Cron jobs would fail at 2026-11-30 17:23 UTC:\n  morning-report: "
    )


def test_wrong_settings_are_told() -> None:
    with (
        override_settings(DYNCRON={"ENQUEUER": "lokal"}),
        pytest.raises(ConfigurationError, match='Did you mean "local"'),
    ):
        due(SIX)


# --- imports --------------------------------------------------------------------------------------


def test_the_module_needs_no_django() -> None:
    code = "import sys, django_dyncron.testing; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_sync_ask_is_possible_from_a_thread_of_a_coroutine() -> None:
    assert await sync_to_async(due)(SIX) == ["morning-report"]
