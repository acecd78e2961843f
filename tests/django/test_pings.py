"""Pings against a real HTTP server: what a monitor is told, and that nobody waits for it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.db import connections
from django.test import override_settings

from django_dyncron import CurrentRun, pings, signals
from django_dyncron.checks import check_cron_jobs
from django_dyncron.job_checks import job_notices
from django_dyncron.models import CronJob, CronRun
from django_dyncron.pings import lines, sending
from django_dyncron.wiring import open_scheduler
from django_dyncron.worker import Work
from tests import monitor
from tests.monitor import Monitor
from tests.shop import tasks as shop

RUN = CurrentRun(UUID(int=7), "morning", datetime(2026, 11, 1, 5, 30, tzinfo=UTC))
RID = "00000000-0000-0000-0000-000000000007"


@pytest.fixture
def hc() -> Iterator[Monitor]:
    """A monitor whose addresses may be pinged, and are."""
    with monitor.serving() as served, override_settings(DYNCRON={"PING_URLS": [served.url]}):
        pings.connect()
        yield served
        served.gate.set()
        pings.flush()
        pings.disconnect()


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(sending, "_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(lines, "LAST_WORDS_SECONDS", 0.3)
    monkeypatch.setattr(lines, "_lines", lines._Lines())


def add_job(job_id: str = "morning", **values: Any) -> CronJob:
    values = {"task_name": "tests.shop.tasks.ping", "payload": {"url": "/"}, **values}
    return CronJob.objects.create(job_id=job_id, cron_expression="30 5 * * *", **values)


@pytest.fixture
def morning(transactional_db: None, hc: Monitor) -> CronJob:
    """A job that pings, and a run of it that its queue has."""
    add_run()
    return add_job(ping_url=f"{hc.url}abc")


def add_run() -> None:
    CronRun.objects.all().delete()
    CronRun.objects.create(id=RUN.run_id, job_id="morning", status="enqueued", task_name="x")


def actions(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [record for record in caplog.records if record.name == "django_dyncron"]
    return [vars(record)["action"] for record in records if "ping" in vars(record)["action"]]


# --- in a worker ----------------------------------------------------------------------------------


def test_a_run_that_goes_well(morning: CronJob, hc: Monitor) -> None:
    with Work(RUN):
        hc.wait_for(1)
    # Without waiting: a worker has told of the end when it is done with the run.
    assert hc.told() == [("/abc/start", RID), ("/abc", RID)]
    assert [request.method for request in hc.requests] == ["GET", "GET"]
    assert hc.requests[0].agent is not None
    assert hc.requests[0].agent.startswith("django-dyncron/")


def test_a_run_that_fails(morning: CronJob, hc: Monitor) -> None:
    with pytest.raises(RuntimeError), Work(RUN):
        raise RuntimeError("no paper ✂")
    assert hc.told() == [("/abc/start", RID), ("/abc/fail", RID)]
    assert (hc.requests[1].method, hc.requests[1].body) == ("POST", "RuntimeError: no paper ✂")


async def test_a_run_in_a_coroutine(morning: CronJob, hc: Monitor) -> None:
    async with Work(RUN):
        pass
    assert hc.told() == [("/abc/start", RID), ("/abc", RID)]


def test_a_job_without_an_address_pings_nobody(morning: CronJob, hc: Monitor) -> None:
    add_job("silent")
    with Work(CurrentRun(UUID(int=8), "silent", None)):
        pass
    with Work(CurrentRun(UUID(int=9), "nowhere", None)):
        pass
    assert hc.requests == []


def test_the_address_is_the_one_that_stands_there_now(morning: CronJob, hc: Monitor) -> None:
    with Work(RUN):
        hc.wait_for(1)
        CronJob.objects.update(ping_url=f"{hc.url}new")
    assert hc.told() == [("/abc/start", RID), ("/new", RID)]


def test_a_long_error_is_cut(morning: CronJob, hc: Monitor) -> None:
    signals.run_failed.send(sender=None, run=RUN, error="x" + "é" * 9000, status="failed")
    (request,) = hc.requests
    assert len(request.body.encode()) == 9999
    assert request.body == "x" + "é" * 4999


def test_a_killed_task_is_found_by_its_run(morning: CronJob, hc: Monitor) -> None:
    nameless = CurrentRun(RUN.run_id, "", None)
    signals.run_failed.send(sender=None, run=nameless, error="Killed.", status="failed")
    assert hc.told() == [("/abc/fail", RID)]


@pytest.mark.usefixtures("_hasty")
def test_a_monitor_that_hangs_delays_no_task(morning: CronJob, hc: Monitor) -> None:
    hc.gate.clear()
    began = time.monotonic()
    work = Work(RUN)
    work.begin()
    assert time.monotonic() - began < 0.25
    work.end()
    assert 0.25 < time.monotonic() - began < 2
    # Once was enough: a worker does not wait for it again and again.
    began = time.monotonic()
    for _ in range(10):
        with Work(RUN):
            pass
    assert time.monotonic() - began < 1


def test_a_job_without_an_address_costs_a_worker_one_query(
    morning: CronJob, hc: Monitor, django_assert_num_queries: Callable[..., Any]
) -> None:
    CronJob.objects.update(ping_url="")
    before = threading.active_count()
    with django_assert_num_queries(1):
        signals.run_succeeded.send(sender=None, run=RUN)
    assert threading.active_count() <= before


# --- monitors that misbehave ----------------------------------------------------------------------


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize(
    "answers, asked, logged",
    [
        ([503], 2, []),
        ([429], 2, []),
        ([503, 500, 200], 2, ["ping_failed"]),
        ([404], 1, ["ping_failed"]),
        ([201], 1, []),
    ],
)
def test_a_monitor_that_answers_with_an_error(
    answers: list[int],
    asked: int,
    logged: list[str],
    morning: CronJob,
    hc: Monitor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hc.answers = list(answers)
    signals.run_succeeded.send(sender=None, run=RUN)
    assert hc.told() == [("/abc", RID)] * asked
    assert actions(caplog) == logged
    # Whoever knows the address may speak for the job.
    assert "/abc" not in caplog.text


@pytest.mark.usefixtures("_hasty")
def test_a_monitor_that_is_not_there(morning: CronJob, caplog: pytest.LogCaptureFixture) -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        CronJob.objects.update(ping_url=f"{url}abc")
        with override_settings(DYNCRON={"PING_URLS": [url]}):
            signals.run_succeeded.send(sender=None, run=RUN)
    assert actions(caplog) == ["ping_failed"]
    assert "refused" in caplog.text


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("code", [301, 302, 307])
def test_a_redirect_is_not_followed(
    code: int, morning: CronJob, hc: Monitor, caplog: pytest.LogCaptureFixture
) -> None:
    with monitor.serving() as elsewhere:
        hc.answers, hc.location = [code], f"{elsewhere.url}secret"
        signals.run_failed.send(sender=None, run=RUN, error="no paper", status="failed")
        assert hc.told() == [("/abc/fail", RID)]
        assert elsewhere.requests == []
    assert f"the monitor answered {code}" in caplog.text


def test_an_address_that_is_not_allowed_is_never_contacted(
    morning: CronJob, hc: Monitor, caplog: pytest.LogCaptureFixture
) -> None:
    with monitor.serving() as evil:
        host = hc.url.removeprefix("http://").rstrip("/")
        for url in (f"{evil.url}abc", f"http://{host}@127.0.0.1:{evil.port}/abc"):
            CronJob.objects.update(ping_url=url)
            add_run()
            with Work(RUN):
                pass
        assert evil.requests == []
    assert hc.requests == []
    assert actions(caplog) == ["ping_refused"] * 4


def test_too_many_pings_are_dropped(
    morning: CronJob,
    hc: Monitor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(lines, "_LONGEST_LINE", 3)
    monkeypatch.setattr(lines, "_AT_ONCE", 1)
    monkeypatch.setattr(lines, "_lines", lines._Lines())
    hc.gate.clear()
    signals.run_started.send(sender=None, run=RUN)
    hc.wait_for(1)
    for _ in range(8):
        signals.run_started.send(sender=None, run=RUN)
    # One line, however many: there may be thousands in a second, of jobs that have no address.
    assert actions(caplog) == ["ping_dropped"]
    hc.gate.set()
    pings.flush()
    assert hc.told() == [("/abc/start", RID)] * 4
    signals.run_started.send(sender=None, run=RUN)
    pings.flush()
    assert actions(caplog) == ["ping_dropped"] * 2
    assert caplog.records[-1].getMessage() == "5 pings were dropped while too many were waiting"


def test_a_ping_that_cannot_be_sent_at_all_costs_no_other(
    morning: CronJob, hc: Monitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    add_job("odd", ping_url=f"{hc.url}odd")
    real = sending._opener().open

    def fail(request: Any, **options: Any) -> Any:
        if "/odd" in request.full_url:
            raise UnicodeError("label empty or too long")  # what a host's name may come to
        return real(request, **options)

    monkeypatch.setattr(sending._opener(), "open", fail)
    sending.send_all(
        [sending.Ping(sending.PingKind.SUCCESS, job_id) for job_id in ("odd", "morning")]
    )
    assert hc.told() == [("/abc", "")]
    assert actions(caplog) == ["ping_failed"]


def test_a_database_that_is_away_costs_a_ping_and_a_line(
    morning: CronJob,
    hc: Monitor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(sending, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(sending, "database_alias", lambda _: "nowhere")
    signals.run_succeeded.send(sender=None, run=RUN)
    assert actions(caplog) == ["ping_failed"]
    monkeypatch.undo()
    signals.run_succeeded.send(sender=None, run=RUN)
    assert hc.told() == [("/abc", RID)]


# --- in a scheduler -------------------------------------------------------------------------------


def due(job_id: str, hc: Monitor, minutes: int = 2, **values: Any) -> CronJob:
    """Add a minutely job that has missed its last slots."""
    latest = datetime.now(UTC).replace(second=0, microsecond=0)
    values = {"task_name": "tests.shop.tasks.ping", "payload": {"url": "/"}, **values}
    return CronJob.objects.create(
        job_id=job_id,
        cron_expression="* * * * *",
        plan_from=latest - timedelta(minutes=minutes),
        ends_at=latest,
        ping_url=f"{hc.url}{job_id}",
        **values,
    )


async def tick() -> None:
    async with open_scheduler() as scheduler:
        await scheduler.start(max_ticks=1)


async def in_database(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    from asgiref.sync import sync_to_async

    return await sync_to_async(function)(*arguments, **options)


@pytest.mark.django_db(transaction=True)
async def test_local_runs(hc: Monitor) -> None:
    await in_database(due, "good", hc, 1)
    await in_database(due, "bad", hc, 1, task_name="tests.shop.tasks.fail", payload={})
    await in_database(due, "unknown", hc, 1, task_name="tests.shop.tasks.nothing", payload={})
    await tick()
    ids = {run.job_id: str(run.id) async for run in CronRun.objects.all()}
    of_job = {
        job_id: [told for told in hc.told() if told[0].split("/")[1] == job_id] for job_id in ids
    }
    assert of_job == {
        "good": [("/good/start", ids["good"]), ("/good", ids["good"])],
        "bad": [("/bad/start", ids["bad"]), ("/bad/fail", ids["bad"])],
        "unknown": [("/unknown/fail", ids["unknown"])],
    }
    bodies = {request.path: request.body for request in hc.requests if request.body}
    assert bodies["/bad/fail"] == "RuntimeError: out of paper"
    assert "not a registered task" in bodies["/unknown/fail"]


@pytest.mark.django_db(transaction=True)
async def test_what_was_missed_is_one_ping_and_what_was_paused_none(hc: Monitor) -> None:
    slot = {"first": datetime(2026, 11, 1, 5, 30, tzinfo=UTC), "count": 1}
    slot["last"] = slot["first"]
    await in_database(due, "late", hc)
    await in_database(due, "paused", hc)
    hc.gate.clear()
    # One is on its way while the others come together.
    signals.slots_skipped.send(sender=None, job_id="late", reason="misfire", **slot)
    hc.wait_for(1)
    for _ in range(50):
        signals.slots_skipped.send(sender=None, job_id="late", reason="misfire", **slot)
        for reason in ("paused", "overlap", "deleted"):
            signals.slots_skipped.send(sender=None, job_id="paused", reason=reason, **slot)
    hc.gate.set()
    pings.flush()
    assert hc.told() == [("/late/fail", "")] * 2
    text = "Not run: 1 due from 2026-11-01 05:30 to 2026-11-01 05:30 UTC."
    assert [request.body for request in hc.requests] == [text] * 2


@pytest.mark.django_db(transaction=True)
async def test_a_job_that_cannot_be_planned_and_a_run_that_was_lost(hc: Monitor) -> None:
    await in_database(add_job, ping_url=f"{hc.url}abc")
    signals.job_broken.send(sender=None, job_id="morning", error="minute 61")
    signals.run_lost.send(sender=None, run=RUN)
    pings.flush()
    assert hc.told() == [("/abc/fail", ""), ("/abc/fail", RID)]


@pytest.mark.django_db(transaction=True)
async def test_no_connection_is_held(hc: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Any] = []
    send = sending._send

    def look_and_send(ping: sending.Ping, target: str) -> None:
        held.append(connections["default"].connection)
        send(ping, target)

    monkeypatch.setattr(sending, "_send", look_and_send)
    await in_database(due, "good", hc, 1)
    await tick()
    assert held == [None, None]


@pytest.mark.django_db(transaction=True)
async def test_a_monitor_that_hangs_delays_no_tick(hc: Monitor) -> None:
    for number in range(20):
        await in_database(due, f"job-{number}", hc, 1)
    hc.gate.clear()
    shop.calls.clear()
    async with open_scheduler() as scheduler:
        began = time.monotonic()
        await scheduler.start(max_ticks=1)
        assert time.monotonic() - began < 4
        assert len(shop.calls) == 20
        hc.gate.set()
    # Closing the scheduler has sent what was waiting.
    assert len(hc.requests) == 40


# --- off ------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_by_default_there_is_neither_thread_nor_query(
    django_assert_num_queries: Callable[..., Any],
) -> None:
    add_job(ping_url="https://hc-ping.com/abc")
    assert not signals.run_succeeded.has_listeners()
    before = threading.active_count()
    with django_assert_num_queries(0):
        signals.run_started.send(sender=None, run=RUN)
        signals.run_succeeded.send(sender=None, run=RUN)
    assert threading.active_count() == before


CONNECTED = """
import sys
from django.conf import settings
from tests import settings as ours
ours = {name: value for name, value in vars(ours).items() if name.isupper()}
settings.configure(**ours, DYNCRON=%r)
import django
django.setup()
from django_dyncron import signals
print("django_dyncron.pings" in sys.modules, signals.run_failed.has_listeners())
"""


@pytest.mark.parametrize(
    "dyncron, said",
    [({}, "False False"), ({"PING_URLS": ["https://hc-ping.com/"]}, "True True")],
)
def test_a_process_pings_if_the_settings_say_so(dyncron: dict[str, Any], said: str) -> None:
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("DJANGO")}
    done = subprocess.run(
        [sys.executable, "-c", CONNECTED % dyncron],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.stdout.strip() == said


# --- forks and exits ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_that_leaves_without_a_word_has_pinged(
    morning: CronJob, hc: Monitor
) -> None:
    # The parent has threads of its own at work, which the child does not have.
    signals.run_started.send(sender=None, run=RUN)
    hc.wait_for(1)
    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            signals.run_started.send(sender=None, run=RUN)
            signals.run_succeeded.send(sender=None, run=RUN)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert hc.told() == [("/abc/start", RID)] * 2 + [("/abc", RID)]


# --- what a form says -----------------------------------------------------------------------------

HC = {"PING_URLS": ["https://hc-ping.com/", "https://monitor.example/in/"]}


@pytest.mark.parametrize(
    "url, words",
    [
        ("", None),
        ("https://hc-ping.com/abc", None),
        ("https://monitor.example/in/abc", None),
        ("https://monitor.example/out/abc", "must begin with https://hc-ping.com/ / https://mon"),
        ("http://hc-ping.com/abc", "does not allow this address"),
        ("https://hc-ping.com@evil.example/", "no plain address"),
        ("https://hc-ping.com/../", "no plain address"),
        ("hc-ping.com/abc", "no plain address"),
        ("file:///etc/passwd", "no plain address"),
    ],
)
@pytest.mark.django_db
def test_a_job_is_saved_with_an_allowed_address_only(url: str, words: str | None) -> None:
    job = add_job(ping_url=url)
    with override_settings(DYNCRON=HC):
        if words is None:
            job.full_clean()
            return
        with pytest.raises(ValidationError) as caught:
            job.full_clean()
    assert list(caught.value.message_dict) == ["ping_url"]
    assert words in caught.value.message_dict["ping_url"][0]


@pytest.mark.django_db
def test_what_sql_has_written_is_found_by_the_check() -> None:
    job = add_job()
    CronJob.objects.filter(pk=job.pk).update(ping_url="https://evil.example/")
    assert check_cron_jobs(databases=["default"]) == []
    with override_settings(DYNCRON=HC):
        (message,) = check_cron_jobs(databases=["default"])
    assert "ping_url: The setting PING_URLS does not allow this address." in message.msg


@pytest.mark.django_db
def test_the_form_warns_where_nothing_would_be_heard() -> None:
    job = add_job(ping_url="https://hc-ping.com/abc")
    job.full_clean()
    assert job_notices(job.definition(), job.ping_url) == [
        "The ping URL is not used: the setting PING_URLS is empty."
    ]
    with override_settings(DYNCRON=HC):
        assert job_notices(job.definition(), job.ping_url) == []
    deaf = {**HC, "ENQUEUER": "django_dyncron.testing.RecordingEnqueuer"}
    with override_settings(DYNCRON=deaf):
        (notice,) = job_notices(job.definition(), job.ping_url)
        assert job_notices(job.definition()) == []
    assert notice.startswith("The queue system does not tell when a run starts and ends")
