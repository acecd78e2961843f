"""Edits by every path, while a replica runs: noticed on the next tick, the past never fired."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from django_dyncron.models import CronJob
from tests.integration.cluster import Cluster, wait_until

HALF_SECOND = ("--tick-interval", "0.5")
NEXT_TICK = 2.0
"""Seconds within which a tick of half a second must have come, on a busy machine."""
NEW_YEAR = datetime(datetime.now(UTC).year + 1, 1, 1, tzinfo=UTC)

SIX_COLUMNS = """
INSERT INTO django_dyncron_cronjob
    (job_id, task_name, cron_expression, payload, queue, is_active)
VALUES ('raw', 'anything', '0 0 1 1 *', '{"user_id": 7}', 'mail', true)
"""


@pytest.fixture
def cluster(sqlite_cluster: Cluster) -> Cluster:
    return sqlite_cluster


def _wait_for_cursor(cluster: Cluster, job_id: str, cursor: datetime | None) -> None:
    def found() -> datetime | None:
        return cluster.jobs.values_list("next_run_at", flat=True).get(job_id=job_id)

    wait_until(lambda: found() == cursor, NEXT_TICK, lambda: f"{found()}\n{cluster.output}")


@pytest.mark.parametrize("database", ["postgres_cluster", "sqlite_cluster"])
def test_sql_and_update_are_noticed_by_the_next_tick(
    request: pytest.FixtureRequest, database: str
) -> None:
    cluster: Cluster = request.getfixturevalue(database)
    replica = cluster.start_one(*HALF_SECOND)
    cluster.sql(SIX_COLUMNS)
    _wait_for_cursor(cluster, "raw", NEW_YEAR)
    cluster.sql(
        "UPDATE django_dyncron_cronjob SET cron_expression = '30 2 1 1 *' WHERE job_id = 'raw'"
    )
    _wait_for_cursor(cluster, "raw", NEW_YEAR.replace(hour=2, minute=30))
    cluster.jobs.filter(job_id="raw").update(is_active=False)
    _wait_for_cursor(cluster, "raw", None)
    cluster.jobs.filter(job_id="raw").update(is_active=True)
    _wait_for_cursor(cluster, "raw", NEW_YEAR.replace(hour=2, minute=30))
    job = cluster.jobs.get()
    job.time_zone = "America/Lima"
    job.save()
    _wait_for_cursor(cluster, "raw", NEW_YEAR.replace(hour=7, minute=30))
    cluster.sql("DELETE FROM django_dyncron_cronjob")
    replica.wait_for_tick()
    assert cluster.enqueued() == []
    assert replica.stop() == 0


def test_resuming_never_fires_the_past(cluster: Cluster) -> None:
    cluster.add_missed(["update", "save", "sql"], slots=5, ends_at=None)
    cluster.sql("UPDATE django_dyncron_cronjob SET is_active = false")
    replica = cluster.start_one(*HALF_SECOND)
    for job_id in ("update", "save", "sql"):
        _wait_for_cursor(cluster, job_id, None)
    _wait_for_room_in_this_minute()
    cluster.jobs.filter(job_id="update").update(is_active=True)
    job = cluster.jobs.get(job_id="save")
    job.is_active = True
    job.save()
    cluster.sql("UPDATE django_dyncron_cronjob SET is_active = true WHERE job_id = 'sql'")
    following = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
    for job_id in ("update", "save", "sql"):
        _wait_for_cursor(cluster, job_id, following)
    assert replica.stop() == 0
    assert cluster.enqueued() == []


def test_a_pause_and_resume_while_nothing_runs_forgets_what_was_due(cluster: Cluster) -> None:
    due = cluster.add_missed(["untouched", "resumed"], slots=5)
    cluster.jobs.filter(job_id="resumed").update(is_active=False)
    cluster.jobs.filter(job_id="resumed").update(is_active=True)
    _assert_counts_from_now(cluster, "resumed")
    assert cluster.start_one("--once").exit_code() == 0
    assert cluster.start_one("--once").exit_code() == 0
    assert set(cluster.enqueued()) == {slot for slot in due if slot[0] == "untouched"}
    assert len(cluster.enqueued()) == 5


def test_an_edit_of_a_due_job_moves_on_without_firing(cluster: Cluster) -> None:
    cluster.add_missed(["edited"], slots=5)
    cluster.jobs.update(cron_expression="0 0 1 1 *", ends_at=None)
    _assert_counts_from_now(cluster, "edited")
    replica = cluster.start_one(*HALF_SECOND)
    _wait_for_cursor(cluster, "edited", NEW_YEAR)
    assert replica.stop() == 0
    assert cluster.enqueued() == []


def test_a_form_left_open_across_a_run_does_not_move_the_cursor_back(cluster: Cluster) -> None:
    _wait_for_room_in_this_minute()
    due = cluster.add_missed(["report"], slots=3, ends_at=NEW_YEAR)
    stale = cluster.jobs.get()
    replica = cluster.start_one(*HALF_SECOND)
    cluster.wait_for_enqueued(3)
    wait_until(lambda: cluster.runs.filter(status="enqueued").count() == 3, NEXT_TICK)
    after_the_run = cluster.jobs.values("next_run_at", "last_run_at", "plan_from").get()
    stale.description = "typed while the job ran"
    stale.save()
    assert cluster.jobs.values("next_run_at", "last_run_at", "plan_from").get() == after_the_run
    replica.wait_for_tick()
    replica.wait_for_tick()
    assert replica.stop() == 0
    assert sorted(cluster.enqueued()) == sorted(due)
    assert cluster.jobs.get().description == "typed while the job ran"


def _assert_counts_from_now(cluster: Cluster, job_id: str) -> None:
    plan_from = cluster.jobs.get(job_id=job_id).plan_from
    assert plan_from is not None
    assert datetime.now(UTC) - plan_from < timedelta(seconds=5)


def _wait_for_room_in_this_minute() -> None:
    """Wait, if need be, until no minute begins within the next few seconds."""
    wait_until(lambda: datetime.now(UTC).second < 54, seconds=10)


# --- in real time ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_edits_over_three_minutes(postgres_cluster: Cluster) -> None:
    cluster = postgres_cluster
    first = _start_of_minute_after(seconds=5)
    replica = cluster.start_one(*HALF_SECOND)
    cluster.sql(SIX_COLUMNS.replace("0 0 1 1 *", "* * * * *"))
    CronJob.objects.using(cluster.alias).create(
        job_id="paused", task_name="anything", cron_expression="* * * * *"
    )
    cluster.wait_for_enqueued(2, seconds=70)
    cluster.jobs.filter(job_id="paused").update(is_active=False)
    cluster.sql("UPDATE django_dyncron_cronjob SET cron_expression = '0 0 1 1 *'")
    time.sleep(61)
    cluster.jobs.filter(job_id="paused").update(is_active=True, cron_expression="* * * * *")
    cluster.wait_for_enqueued(3, seconds=70)
    time.sleep(1)
    assert replica.stop() == 0
    third = first + timedelta(minutes=2)
    assert sorted(cluster.enqueued()) == [
        ("paused", f"{first:%Y-%m-%dT%H:%MZ}"),
        ("paused", f"{third:%Y-%m-%dT%H:%MZ}"),
        ("raw", f"{first:%Y-%m-%dT%H:%MZ}"),
    ]


def _start_of_minute_after(seconds: float) -> datetime:
    """Return the next minute, having waited until it is at least ``seconds`` away."""
    wait_until(lambda: datetime.now(UTC).second < 60 - seconds, seconds=10)
    return datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
