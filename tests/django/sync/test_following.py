"""A row follows its declaration, until somebody edits the row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection
from django.db.models.signals import post_save
from django.test.utils import CaptureQueriesContext

from django_dyncron.core.policies import MisfirePolicy
from django_dyncron.models import CronJob
from tests.django.sync.conftest import Declare, Sync

pytestmark = pytest.mark.django_db

REPORT = "tests.shop.tasks.build_report"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def the_job() -> CronJob:
    job: CronJob = CronJob.objects.get()
    return job


def plan_as_a_scheduler_would(slot: datetime = LONG_AGO) -> None:
    """Leave every row planned, its cursor on ``slot``."""
    CronJob.objects.update(plan_from=None, next_run_at=slot)


def test_a_declared_job_is_created_as_declared(declare: Declare, sync: Sync) -> None:
    declare(queue="slow", time_zone="Europe/Berlin", misfire_policy=MisfirePolicy.SKIP)
    assert sync() == ["created   report", "1 created, 0 unchanged."]
    job = the_job()
    assert (job.job_id, job.task_name, job.cron_expression) == ("report", REPORT, "0 6 * * *")
    assert (job.payload, job.queue, job.time_zone) == ({"day": "today"}, "slow", "Europe/Berlin")
    assert (job.misfire_policy, job.is_active, job.origin) == ("skip", True, "code")
    assert job.declaration == {
        "source": "tests",
        "fields": {
            "task_name": REPORT,
            "cron_expression": "0 6 * * *",
            "time_zone": "Europe/Berlin",
            "payload": {"day": "today"},
            "queue": "slow",
            "misfire_policy": "skip",
        },
    }
    assert job.plan_from is not None


def test_one_that_is_declared_paused_is_created_paused(declare: Declare, sync: Sync) -> None:
    declare(is_active=False)
    assert sync()[0] == "created   report: paused, as it is declared"
    assert not the_job().is_active


def test_a_second_sync_writes_nothing(declare: Declare, sync: Sync) -> None:
    declare()
    sync()
    plan_as_a_scheduler_would()
    before = CronJob.objects.values().get()
    with CaptureQueriesContext(connection) as queries:
        assert sync() == ["1 unchanged."]
    (sql,) = [each["sql"] for each in queries]
    assert sql.startswith("SELECT")
    # Whom it locked, schedulers would pass over.
    assert "FOR UPDATE" not in sql
    assert CronJob.objects.values().get() == before


def test_what_the_code_changes_is_changed_in_the_row(declare: Declare, sync: Sync) -> None:
    declare(description="Old.")
    sync()
    declare(expression="30 7 * * *", queue="slow", description="New.")
    assert sync() == [
        (
            'updated   report: cron_expression: "0 6 * * *" → "30 7 * * *"; '
            'queue: "reports" → "slow"; description: "Old." → "New."'
        ),
        "1 updated, 0 unchanged.",
    ]
    job = the_job()
    assert (job.cron_expression, job.queue, job.description) == ("30 7 * * *", "slow", "New.")
    assert sync() == ["1 unchanged."]


def test_a_new_schedule_counts_from_the_sync_and_another_field_does_not(
    declare: Declare, sync: Sync
) -> None:
    declare()
    sync()
    plan_as_a_scheduler_would()
    declare(queue="slow")
    sync()
    assert (the_job().plan_from, the_job().next_run_at) == (None, LONG_AGO)
    declare(queue="slow", expression="30 7 * * *")
    sync()
    plan_from = the_job().plan_from
    assert plan_from is not None
    assert plan_from > LONG_AGO


def test_saving_is_heard_of_by_others(declare: Declare, sync: Sync) -> None:
    heard: list[tuple[str, bool]] = []

    def hear(instance: CronJob, created: bool, **_: Any) -> None:
        heard.append((instance.job_id, created))

    post_save.connect(hear, sender=CronJob)
    try:
        declare()
        sync()
        declare(queue="slow")
        sync()
        sync()
    finally:
        post_save.disconnect(hear, sender=CronJob)
    assert heard == [("report", True), ("report", False)]


# --- edits ----------------------------------------------------------------------------------------


def test_an_edit_is_kept_and_told_of_each_time(declare: Declare, sync: Sync) -> None:
    declare()
    sync()
    CronJob.objects.update(cron_expression="0 9 * * *")
    told = [
        'conflict  report: cron_expression: the row has "0 9 * * *", the code "0 6 * * *"',
        "Edited rows are left as they are. --take-code JOB_ID settles it for the code.",
        "1 in conflict, 0 unchanged.",
    ]
    assert sync() == told
    assert sync() == told
    assert the_job().cron_expression == "0 9 * * *"


def test_beside_an_edited_field_the_others_follow(declare: Declare, sync: Sync) -> None:
    declare()
    sync()
    CronJob.objects.update(queue="by-hand")
    declare(expression="30 7 * * *")
    assert sync()[:2] == [
        'updated   report: cron_expression: "0 6 * * *" → "30 7 * * *"',
        'conflict  report: queue: the row has "by-hand", the code "reports"',
    ]
    assert (the_job().cron_expression, the_job().queue) == ("30 7 * * *", "by-hand")


@pytest.mark.parametrize("row, ends_as", [("0 7 * * *", "0 7 * * *"), ("0 6 * * *", "0 7 * * *")])
def test_a_conflict_ends_when_the_row_is_as_either_side_wants_it(
    declare: Declare, sync: Sync, row: str, ends_as: str
) -> None:
    """Be it as the code has it now or as it had it before: then nobody holds on to an edit."""
    declare()
    sync()
    CronJob.objects.update(cron_expression="0 9 * * *")
    declare(expression="0 7 * * *")
    assert sync()[0].startswith("conflict  report")
    CronJob.objects.update(cron_expression=row)
    assert sync()[0].startswith("updated   report")
    assert the_job().cron_expression == ends_as
    assert sync() == ["1 unchanged."]
    declare(expression="0 8 * * *")
    sync()
    assert the_job().cron_expression == "0 8 * * *"


def test_the_code_s_side_is_taken_if_asked_for(declare: Declare, sync: Sync) -> None:
    for job_id in ("a", "b"):
        declare(job_id)
    sync()
    CronJob.objects.update(queue="by-hand")
    assert sync("--take-code", "a")[:2] == [
        'updated   a: queue: "by-hand" → "reports"',
        'conflict  b: queue: the row has "by-hand", the code "reports"',
    ]
    assert sync("--take-code")[0] == 'updated   b: queue: "by-hand" → "reports"'
    assert sync() == ["2 unchanged."]


def test_whether_a_job_is_active_is_nobody_s_business_but_the_operator_s(
    declare: Declare, sync: Sync
) -> None:
    declare(is_active=True)
    sync()
    CronJob.objects.update(is_active=False, pause_reason="The bank is down.")
    declare(is_active=True, expression="30 7 * * *")
    sync("--take-code")
    job = the_job()
    assert (job.is_active, job.pause_reason) == (False, "The bank is down.")
    declare(is_active=False, expression="30 7 * * *")
    CronJob.objects.update(is_active=True)
    assert sync("--take-code") == ["1 unchanged."]
    assert the_job().is_active


def test_a_conflict_that_makes_the_job_wrong_says_so(declare: Declare, sync: Sync) -> None:
    declare()
    sync()
    CronJob.objects.update(payload={"night": "today"})
    declare(queue="slow")
    lines = sync()
    assert lines[1] == (
        "conflict  report: payload: (added day; removed night); as it stands now it is wrong: "
        "payload: build_report takes (day, *, full=False): missing a required argument: 'day'."
    )


# --- fields that are not written down -------------------------------------------------------------


def test_a_field_that_is_not_written_down_is_the_operator_s(declare: Declare, sync: Sync) -> None:
    declare()
    sync()
    CronJob.objects.update(description="Ask Ann.", jitter_seconds=30)
    assert sync() == ["1 unchanged."]
    assert (the_job().description, the_job().jitter_seconds) == ("Ask Ann.", 30)


def test_one_that_is_written_down_later_counts_as_its_default_before(
    declare: Declare, sync: Sync
) -> None:
    declare("untouched")
    declare("edited")
    sync()
    CronJob.objects.filter(job_id="edited").update(jitter_seconds=30)
    declare("untouched", jitter_seconds=60)
    declare("edited", jitter_seconds=60)
    assert sync()[:2] == [
        "conflict  edited: jitter_seconds: the row has 30, the code 60",
        "updated   untouched: jitter_seconds: 0 → 60",
    ]


def test_one_that_is_dropped_goes_back_to_its_default_unless_it_was_edited(
    declare: Declare, sync: Sync
) -> None:
    for job_id in ("untouched", "edited"):
        declare(job_id, jitter_seconds=60, options={"priority": 5}, catch_up_window_seconds=900)
    sync()
    CronJob.objects.filter(job_id="edited").update(jitter_seconds=30)
    for job_id in ("untouched", "edited"):
        declare(job_id)
    sync()
    rows = CronJob.objects.order_by("job_id")
    values = list(rows.values_list("jitter_seconds", "options", "catch_up_window_seconds"))
    assert values == [(30, {}, None), (0, {}, None)]
    assert sync() == ["2 unchanged."]


# --- values, not their text -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "first, second",
    [
        ({"payload": {"day": ["a", 1]}}, {"payload": {"day": ("a", 1.0)}}),
        ({"payload": {"day": "a", "full": True}}, {"payload": {"full": True, "day": "a"}}),
        (
            {"starts_at": datetime(2026, 11, 30, 12, tzinfo=UTC)},
            {"starts_at": datetime(2026, 11, 30, 13, tzinfo=timezone(timedelta(hours=1)))},
        ),
        ({"starts_at": "2026-11-30T12:00:00Z"}, {"starts_at": "2026-11-30T13:00+01:00"}),
        ({"misfire_policy": "skip"}, {"misfire_policy": MisfirePolicy.SKIP}),
        # PostgreSQL gives back 100000000000000000000000, which is not the size of that float.
        ({"payload": {"day": 1e23}}, {"payload": {"day": 100e21}}),
        ({"payload": {"day": [1.7e308, 1e-7]}}, {"payload": {"day": (1.7e308, 0.0000001)}}),
    ],
    ids=[
        "lists",
        "order of keys",
        "zones",
        "texts of moments",
        "enumerations",
        "large",
        "extreme",
    ],
)
def test_two_ways_to_say_one_thing_are_no_change(
    declare: Declare, sync: Sync, first: dict[str, Any], second: dict[str, Any]
) -> None:
    declare(**first)
    sync()
    assert sync() == ["1 unchanged."]
    declare(**second)
    assert sync() == ["1 unchanged."]


@pytest.mark.parametrize(
    "first, second",
    [
        ({"day": 1}, {"day": True}),
        ({"day": "1"}, {"day": 1}),
        ({"day": 0}, {"day": None}),
        ({"day": 1.5}, {"day": 10**400}),
    ],
)
def test_things_that_only_look_alike_are_a_change(
    declare: Declare, sync: Sync, first: dict[str, Any], second: dict[str, Any]
) -> None:
    declare(payload=first)
    sync()
    declare(payload=second)
    assert sync()[0] == "updated   report: payload: (changed day)"
    assert the_job().payload == second
    assert type(the_job().payload["day"]) is type(second["day"])


def test_payloads_and_addresses_are_not_told(declare: Declare, sync: Sync, settings: Any) -> None:
    settings.DYNCRON = {"PING_URLS": ["https://hc-ping.com/"]}
    declare(payload={"day": "s3cret"}, ping_url="https://hc-ping.com/s3cret")
    sync()
    declare(payload={"day": "s3cret2", "full": True}, ping_url="https://hc-ping.com/s3cret2")
    assert sync()[0] == (
        "updated   report: payload: (added full; changed day); ping_url: (not shown)"
    )
    CronJob.objects.update(payload={"day": "s3cret3"})
    assert "s3cret" not in "".join(sync("--json"))


def test_what_sql_has_left_of_a_declaration_is_made_good(declare: Declare, sync: Sync) -> None:
    declare()
    sync()
    for rubbish in (None, [1], {"fields": 7}, {"source": 7, "fields": {"queue": {}}}):
        CronJob.objects.update(declaration=rubbish)
        sync("--take-code")
        assert the_job().declaration["source"] == "tests"
        assert sync() == ["1 unchanged."]


def test_the_source_of_a_row_is_its_code_base(
    declare: Declare, undeclare: Callable[[str], None], sync: Sync
) -> None:
    declare("ours")
    sync()
    undeclare("ours")
    declare("theirs")
    assert sync("--source", "other") == ["created   theirs", "1 created, 0 unchanged."]
    assert not CronJob.objects.filter(has_vanished=True).exists()
    assert sync()[:2] == [
        "vanished  ours: it still runs",
        'taken     theirs: the row is declared by the code base "other"',
    ]
    assert sync("--adopt", "theirs")[1] == "adopted   theirs"
    assert sync("--source", "other")[0] == (
        'taken     theirs: the row is declared by the code base "tests"'
    )
