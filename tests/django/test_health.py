"""How health is read and judged: replicas, slots, jobs, clocks, and a database that is away."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any
from uuid import uuid4

import pytest
import time_machine

from django_dyncron import __version__
from django_dyncron.health import (
    Health,
    ReplicaState,
    in_time,
    read_health,
    read_health_in_time,
    reading,
)
from django_dyncron.health.words import duration
from django_dyncron.models import CronRun, Pause, Replica
from tests.django.watched_rows import NOON, a_planned_job, a_replica, at_noon
from tests.spending import counted

pytestmark = pytest.mark.django_db

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with at_noon(monkeypatch):
        yield


def codes(health: Health) -> tuple[list[str], list[str]]:
    """Return the codes of the problems and those of the warnings."""
    return (
        [finding.code for finding in health.problems],
        [finding.code for finding in health.warnings],
    )


# --- replicas -------------------------------------------------------------------------------------


def test_a_replica_that_was_heard_of_is_all_it_takes() -> None:
    a_replica(started_at=LONG_AGO)
    health = read_health()
    assert health.is_healthy
    assert codes(health) == ([], [])
    assert health.read_at == NOON
    (replica,) = health.replicas
    assert (replica.replica_id, replica.state, replica.age) == (
        "web-1",
        ReplicaState.RUNNING,
        timedelta(seconds=5),
    )
    assert (replica.tick_interval, replica.started_at) == (timedelta(seconds=30), LONG_AGO)


def test_where_no_scheduler_ever_ran_something_is_wrong() -> None:
    health = read_health()
    assert codes(health) == (["no_replica"], [])
    assert health.problems[0].text == "No scheduler has ever run on this database."
    assert "run_dyncron" in health.problems[0].remedy


@pytest.mark.parametrize(
    "interval, seconds_ago, is_healthy",
    [(30, 90, True), (30, 91, False), (300, 360, True), (300, 361, False), (30, -91, False)],
)
def test_a_replica_may_be_silent_for_a_minute_more_than_its_tick(
    interval: float, seconds_ago: float, is_healthy: bool
) -> None:
    a_replica(seconds_ago=seconds_ago, tick_interval_seconds=interval)
    assert read_health().is_healthy is is_healthy


def test_max_age_is_what_counts_if_it_is_given() -> None:
    a_replica(seconds_ago=25)
    assert read_health(max_age=timedelta(seconds=25)).is_healthy
    health = read_health(max_age=timedelta(seconds=24))
    assert codes(health) == (["no_replica"], [])
    assert health.problems[0].text == (
        "No scheduler has been heard of for 25 s (last: web-1, 2026-11-30 11:59:35Z)."
    )
    assert health.max_age == timedelta(seconds=24)


def test_replicas_that_all_stopped_run_no_cron_jobs() -> None:
    a_replica("web-1", 80, stopped_at=NOON - timedelta(seconds=80))
    a_replica("web-2", 4000)
    health = read_health()
    assert codes(health) == (["no_replica"], [])
    assert health.problems[0].text == (
        "No scheduler has run for 1 min 20 s (last: web-1, 2026-11-30 11:58:40Z)."
    )


def test_one_that_fell_silent_beside_others_is_worth_a_warning() -> None:
    a_replica("web-1", 5)
    a_replica("web-2", 400)
    a_replica("web-3", 4000, stopped_at=NOON - timedelta(seconds=4000))
    health = read_health()
    assert health.is_healthy
    assert codes(health) == ([], ["replica_silent"])
    assert health.warnings[0].text == "Fell silent: web-2; the latest 6 min 40 s ago."
    assert [replica.state for replica in health.replicas] == ["running", "silent", "stopped"]


def test_one_replica_may_be_asked_after() -> None:
    a_replica("web-1", 400)
    a_replica("web-2", 5)
    a_replica("web-3", 5, stopped_at=NOON - timedelta(seconds=5))
    a_planned_job("late", NOON - timedelta(minutes=10))

    alive = read_health(replica_id="web-2")
    assert codes(alive) == ([], ["overdue"])
    silent = read_health(replica_id="web-1")
    assert codes(silent) == (["replica_silent"], ["overdue"])
    assert silent.problems[0].text == "Replica web-1 has not been heard of for 6 min 40 s."
    assert codes(read_health(replica_id="web-3"))[0] == ["replica_stopped"]
    assert codes(read_health(replica_id="web-4"))[0] == ["replica_unknown"]


# --- slots, jobs and runs -------------------------------------------------------------------------


def test_slots_that_nobody_claims_are_a_problem() -> None:
    a_replica()
    a_planned_job("fine", NOON + timedelta(minutes=1))
    a_planned_job("patient", NOON - timedelta(seconds=90))
    assert read_health().is_healthy

    a_planned_job("late", NOON - timedelta(minutes=12))
    a_planned_job("less late", NOON - timedelta(minutes=2))
    health = read_health()
    assert codes(health) == (["overdue"], [])
    assert health.problems[0].text == (
        "Slots that wait for a scheduler: 2; the oldest, of late, for 12 min."
    )
    assert (health.overdue.count, health.overdue.job_id) == (2, "late")
    assert health.overdue.slot == NOON - timedelta(minutes=12)
    assert health.overdue.lateness == timedelta(minutes=12)


def test_jobs_that_are_paused_or_wait_to_be_planned_are_not_overdue() -> None:
    a_replica()
    a_planned_job("paused", None, is_active=False)
    a_planned_job("new", None, planned_cron_expression=None)
    assert codes(read_health()) == ([], [])
    assert read_health().next_due_at is None


def test_counts_stop_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST", 3)
    a_replica()
    for number in range(5):
        a_planned_job(f"late-{number}", NOON - timedelta(minutes=5 - number))
        a_planned_job(f"failing-{number}", NOON + timedelta(minutes=5), last_error="boom")
    health = read_health()
    assert (health.overdue.count, health.overdue.job_id, health.failing.count) == (3, "late-0", 3)


def test_broken_jobs_are_a_warning_and_failing_ones_a_figure() -> None:
    a_replica()
    a_planned_job("fine", NOON + timedelta(hours=1))
    a_planned_job("failing", NOON + timedelta(hours=1), last_error="boom")
    a_planned_job("paused", None, is_active=False, last_error="boom")
    for name in ("broken-2", "broken-1"):
        a_planned_job(name, None, is_settled=True, planned_in_zone="", last_error="No such day.")
    health = read_health()
    assert codes(health) == ([], ["jobs_broken"])
    assert health.warnings[0].text == "Broken: broken-1, broken-2."
    assert (health.failing.count, health.failing.job_ids) == (1, ("failing",))
    assert health.next_due_at == NOON + timedelta(hours=1)


def test_runs_that_nobody_takes_up_are_a_warning() -> None:
    a_replica()
    for number, seconds_ago in enumerate((-60, 5, 91, 500)):
        CronRun.objects.create(
            id=uuid4(),
            job_id=f"job-{number}",
            scheduled_for=NOON,
            status="claimed",
            task_name="shop.tasks.report",
            lease_until=NOON - timedelta(seconds=seconds_ago),
        )
    health = read_health()
    assert codes(health) == ([], ["runs_waiting"])
    assert health.waiting_runs == 2


def test_a_pause_of_everything_is_a_warning() -> None:
    a_replica()
    Pause.objects.create(since=LONG_AGO, until=NOON)
    assert codes(read_health()) == ([], [])
    Pause.objects.create(since=NOON - timedelta(hours=1), reason="deploy\x1b[2J", paused_by="ann")
    health = read_health()
    assert codes(health) == ([], ["everything_paused"])
    assert health.warnings[0].text == (
        "Everything is paused since 2026-11-30 11:00:00Z by ann: deploy\\x1b[2J."
    )
    assert health.paused is not None
    assert health.paused.since == NOON - timedelta(hours=1)


def a_run(minutes_ago: float, **values: Any) -> None:
    """Insert a run that a replica has claimed, by now under a fresh lease."""
    usual = {
        "id": uuid4(),
        "job_id": f"report-{CronRun.objects.count()}",
        "scheduled_for": NOON - timedelta(minutes=minutes_ago),
        "created_at": NOON - timedelta(minutes=minutes_ago),
        "status": "claimed",
        "attempts": 4,
        "error": "ConnectionError: amqp://ann:secret@mq is away",
        "task_name": "shop.tasks.report",
        "lease_until": NOON + timedelta(minutes=2),
    }
    CronRun.objects.create(**(usual | values))


def test_a_queue_that_takes_nothing_is_a_problem() -> None:
    a_replica()
    a_run(5)
    # Of a local pool that is busy, of a jitter that is or was long, of a worker: none waits for
    # its queue.
    a_run(180, error="")
    a_run(180, error="", attempts=0)
    a_run(180, attempts=3)
    a_run(180, status="failed", lease_until=None)
    a_run(180, status="running")
    assert codes(read_health()) == ([], [])

    a_run(6)
    a_run(180, job_id="backup", scheduled_for=None)
    health = read_health()
    assert codes(health) == (["runs_undelivered"], [])
    assert health.problems[0].text == (
        "Runs that their queue does not take: 2; the oldest, of backup, for 3 h."
    )
    assert (health.undelivered.count, health.undelivered.job_id) == (2, "backup")
    assert health.undelivered.lateness == timedelta(hours=3)
    # To restart a replica would mend no queue.
    assert codes(read_health(replica_id="web-1")) == ([], ["runs_undelivered"])


def test_a_crontab_of_which_nothing_is_left_but_broken_jobs_is_a_problem() -> None:
    a_replica()
    broken = {"is_settled": True, "planned_in_zone": "", "last_error": "No such zone."}
    a_planned_job("broken", None, **broken)
    a_planned_job("paused", None, is_active=False)
    assert codes(read_health()) == (["jobs_broken"], [])
    assert codes(read_health(replica_id="web-1")) == ([], ["jobs_broken"])
    a_planned_job("new", None, planned_cron_expression=None)
    assert codes(read_health()) == ([], ["jobs_broken"])


def test_one_that_fell_silent_a_week_ago_is_missed_by_nobody() -> None:
    a_replica("web-1", 5)
    a_replica("web-2", 7 * 86_400)
    assert codes(read_health()) == ([], ["replica_silent"])
    a_replica("web-3", 7 * 86_400 + 1)
    health = read_health()
    assert health.warnings[0].text == "Fell silent: web-2; the latest 7 d ago."
    Replica.objects.filter(pk="web-2").delete()
    assert codes(read_health()) == ([], [])
    assert codes(read_health(replica_id="web-3")) == (["replica_silent"], [])


# --- clocks and versions --------------------------------------------------------------------------


@pytest.mark.parametrize("seconds, warns", [(5, False), (6, True), (-5, False), (-6, True)])
def test_a_clock_that_goes_wrong_is_a_warning(seconds: int, warns: bool) -> None:
    a_replica()
    with time_machine.travel(NOON + timedelta(seconds=seconds), tick=False):
        health = read_health()
    assert health.skew == timedelta(seconds=seconds)
    assert codes(health) == ([], ["clock_skew"] if warns else [])
    if warns:
        way = "ahead of" if seconds > 0 else "behind"
        assert health.warnings[0].text == f"This host's clock is 6 s {way} the database's."


def test_replicas_of_another_release_are_a_warning() -> None:
    a_replica("web-1", version="0.0.9", tzdata_version="2019a")
    a_replica("web-2")
    a_replica("gone", 4000, version="0.0.1", stopped_at=NOON - timedelta(seconds=4000))
    health = read_health()
    assert codes(health) == ([], ["version_mismatch", "tzdata_mismatch"])
    assert health.warnings[0].text == (
        f"Replicas run django-dyncron 0.0.9, {__version__}, this process {__version__}."
    )


# --- what it costs --------------------------------------------------------------------------------


def test_it_takes_a_fixed_number_of_statements() -> None:
    a_replica()
    with counted() as before:
        read_health()
    for number in range(30):
        a_replica(f"other-{number}", 400)
        a_planned_job(f"late-{number}", NOON - timedelta(minutes=30 - number))
        a_planned_job(
            f"broken-{number}", None, is_settled=True, planned_in_zone="", last_error="no"
        )
        a_planned_job(f"failing-{number}", NOON + timedelta(hours=1), last_error="boom")
    with counted() as after:
        read_health(replica_id="web-1")
    # One more to name the oldest slot, and one for the replica asked after.
    assert (len(before.statements), len(after.statements)) == (8, 10)


# --- a database that hangs ------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
class TestInTime:
    """Reading in a thread that is not waited for for ever."""

    def test_it_reads_what_is_there(self) -> None:
        a_replica()
        assert codes(read_health_in_time(5)) == ([], [])

    def test_a_database_that_hangs_is_slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        goes_on, readers = threading.Event(), []

        def hang(using: str, replica_id: str | None) -> Any:
            readers.append(threading.current_thread())
            goes_on.wait(10)
            return real(using, replica_id)

        real = reading.read_figures
        monkeypatch.setattr(in_time, "read_figures", hang)
        a_replica()
        first, second = read_health_in_time(0.1), read_health_in_time(0.1)
        assert codes(first) == codes(second) == (["database_slow"], [])
        assert first.problems[0].text == "Database 'default' does not answer within 0.1 s."
        assert len(readers) == 1
        # Who comes later waits no longer: probes must not fill up a web server.
        began = time.monotonic()
        for _ in range(20):
            assert codes(read_health_in_time(0.2)) == (["database_slow"], [])
        assert time.monotonic() - began < 1
        assert len(readers) == 1
        # One that waits for too long is not waited for any more, and the next one not as soon:
        # there are never many, and never none that may find a database that is back.
        # A fraction, because sums of floats may fall short of the next second.
        now: Any = Fraction(time.monotonic())
        before, begun = threading.active_count(), []
        for second in range(1, 1000):
            with monkeypatch.context() as later:
                later.setattr(in_time, "monotonic", lambda at=now + second: at)
                read_health_in_time(0.001)
            if threading.active_count() > before + len(begun):
                begun.append(second)
        assert begun == [30, 90, 210, 450, 930]
        goes_on.set()
        for reader in readers:
            reader.join(5)
        assert codes(read_health_in_time(5)) == ([], [])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_is_forked_while_somebody_asks_can_ask_itself() -> None:
    with in_time._readings.lock:  # as another thread may hold it at that moment
        child = os.fork()
        if child == 0:
            os._exit(0 if in_time._readings.lock.acquire(timeout=5) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    "seconds, words",
    [
        (0, "0 s"),
        (-3, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (7205, "2 h"),
        (90_000, "1 d 1 h"),
    ],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert duration(timedelta(seconds=seconds)) == words
