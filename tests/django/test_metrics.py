"""The metrics, scraped over HTTP, read by the official parsers, held against the rows."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db.models import Count, Sum
from django.test import override_settings
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoDbBlocker

from django_dyncron import CronJobDefinition, CurrentRun, __version__, signals
from django_dyncron.core.definitions import Run
from django_dyncron.core.events import (
    LockFailed,
    RunEnqueued,
    RunFailed,
    RunLost,
    StepFailed,
    TickFailed,
)
from django_dyncron.core.exceptions import EnqueueError, EnqueueNotSent
from django_dyncron.core.policies import RunStatus
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.health import Health
from django_dyncron.manual import request_run
from django_dyncron.metrics import DyncronMetrics, HealthCollector, MetricsServer, serve_metrics
from django_dyncron.metrics import gauges as gauges_module
from django_dyncron.models import CronJob, CronRun, Replica
from django_dyncron.pausing import pause_all
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer
from django_dyncron.wiring import open_scheduler
from django_dyncron.worker import Work
from tests.databases import database_alias
from tests.shop import tasks as shop

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOON = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
TASK = shop.__name__

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def server(transactional_db: None) -> Iterator[MetricsServer]:
    server = serve_metrics("127.0.0.1", 0, "default")
    yield server
    server.close()


def scrape(server: MetricsServer, accept: str = "text/plain") -> tuple[str, str]:
    """Return what a scraper gets, and how it is called."""
    url = f"http://127.0.0.1:{server.port}/metrics"
    with urlopen(Request(url, headers={"Accept": accept}), timeout=20) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def samples(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def by_labels(read: Samples, name: str) -> dict[tuple[str, ...], float]:
    """Return the values above 0 of a metric, by the values of its labels."""
    return {
        tuple(value for _, value in labels): value
        for (each, labels), value in read.items()
        if each == name and value
    }


def one(read: Samples, name: str, **labels: str) -> float:
    return read[name, tuple(sorted(labels.items()))]


def add_jobs(prefix: str, count: int, task: str, slots: int = 1, **values: Any) -> None:
    """Add minutely jobs that have missed their last ``slots`` and then ended."""
    latest = datetime.now(UTC).replace(second=0, microsecond=0)
    CronJob.objects.bulk_create(
        CronJob(
            job_id=f"{prefix}-{number}",
            task_name=f"{TASK}.{task}",
            cron_expression="* * * * *",
            plan_from=latest - timedelta(minutes=slots),
            ends_at=latest,
            **values,
        )
        for number in range(count)
    )


def add_many_jobs() -> None:
    add_jobs("good", 40, "ping", payload={"url": "/"})
    add_jobs("report", 20, "build_report", payload={"day": "x"}, queue="reports", enqueuer="here")
    add_jobs("bad", 15, "fail")
    add_jobs("unknown", 5, "nothing")
    add_jobs("missed", 4, "ping", 7, payload={"url": "/"})
    add_jobs("all", 3, "ping", 5, payload={"url": "/"}, misfire_policy="fire_all")
    add_jobs("long", 2, "ping", 300, payload={"url": "/"})
    CronJob.objects.create(job_id="broken", task_name=f"{TASK}.ping", cron_expression="99 * * * *")


def figures_of_rows() -> dict[str, Any]:
    """Return what :class:`CronRun` says, by aggregates."""
    rows = CronRun.objects.order_by()
    ends = rows.filter(status__in=["succeeded", "failed", "unknown", "lost"])
    enqueued = rows.filter(enqueued_at__isnull=False)
    return {
        "enqueued": {
            (enqueuer or "default", queue): count
            for enqueuer, queue, count in enqueued.values_list("enqueuer", "queue").annotate(
                Count("id")
            )
        },
        "finished": {
            (status,): count for status, count in ends.values_list("status").annotate(Count("id"))
        },
        "started": rows.filter(started_at__isnull=False).count(),
        "skipped": {
            (reason,): count
            for reason, count in rows.filter(status="skipped")
            .values_list("reason")
            .annotate(Sum("slot_count"))
        },
        "lateness": sorted(
            (run.enqueued_at - run.scheduled_for).total_seconds()
            for run in enqueued
            if run.enqueued_at is not None and run.scheduled_for is not None
        ),
    }


async def test_every_figure_is_that_of_the_rows(server: MetricsServer) -> None:
    await sync_to_async(add_many_jobs)()
    with override_settings(DYNCRON={"ENQUEUERS": {"here": "local"}}):
        async with open_scheduler(observers=[server]) as scheduler:
            await scheduler.start(max_ticks=1)
        text, _ = await sync_to_async(scrape)(server)
    read = samples(text)
    rows = await sync_to_async(figures_of_rows)()
    assert rows["enqueued"] == {
        ("default", "default"): 40 + 15 + 4 + 15 + 2,
        ("here", "reports"): 20,
    }
    assert rows["finished"] == {("succeeded",): 81, ("failed",): 20}
    assert rows["skipped"] == {("misfire",): 4 * 6 + 2 * 299}
    assert by_labels(read, "dyncron_runs_enqueued_total") == rows["enqueued"]
    assert by_labels(read, "dyncron_runs_finished_total") == rows["finished"]
    assert by_labels(read, "dyncron_slots_skipped_total") == rows["skipped"]
    assert one(read, "dyncron_runs_started_total") == rows["started"] == 96
    assert one(read, "dyncron_lateness_seconds_count") == len(rows["lateness"]) == 96
    assert one(read, "dyncron_lateness_seconds_sum") == pytest.approx(sum(rows["lateness"]))
    for (name, labels), value in read.items():
        if name == "dyncron_lateness_seconds_bucket":
            bound = float(dict(labels)["le"])
            assert value == sum(lateness <= bound for lateness in rows["lateness"])
    assert one(read, "dyncron_tick_duration_seconds_count") == 1
    assert 0 < one(read, "dyncron_tick_duration_seconds_sum") < 60
    assert time.time() - one(read, "dyncron_last_tick_timestamp_seconds") < 60
    assert one(read, "dyncron_tick_failures_total") == 0
    assert one(read, "dyncron_build_info", version=__version__) == 1
    assert one(read, "dyncron_database_up") == 1
    assert one(read, "dyncron_jobs_broken") == 1
    assert one(read, "dyncron_jobs_overdue") == 0


def add_odd_rows() -> None:
    """Add rows that another process has left behind, and one that somebody asks for."""
    ago = datetime.now(UTC) - timedelta(minutes=5)
    usual = {
        "task_name": f"{TASK}.ping",
        "payload": {"url": "/"},
        "replica": "gone",
        "attempts": 1,
        "lease_until": ago,
        "status": "claimed",
    }
    for number, job_id in enumerate(("newest", "once"), start=1):
        CronJob.objects.create(
            job_id=job_id,
            task_name=f"{TASK}.ping",
            payload={"url": "/"},
            cron_expression="0 0 1 1 *",
        )
        minute = timedelta(minutes=number)
        # With a newer one, this one is superseded.
        CronRun.objects.create(id=uuid4(), job_id=job_id, scheduled_for=ago - minute, **usual)
    newer: Any = usual | {"status": "enqueued", "lease_until": None}
    CronRun.objects.create(id=uuid4(), job_id="newest", scheduled_for=ago, **newer)
    for job_id, values in {
        "dead": {"status": "running"},
        "unsure": {"delivery": "at_most_once", "enqueuer": "queue"},
        "deleted": {"scheduled_for": ago},
        "asked, then deleted": {"kind": "manual", "replica": "", "attempts": 0},
    }.items():
        CronRun.objects.create(id=uuid4(), job_id=job_id, **(usual | values))
    request_run(CronJob.objects.get(job_id="once"), by="ann")


async def test_so_are_those_of_what_was_left_behind_and_of_runs_by_hand(
    server: MetricsServer,
) -> None:
    await sync_to_async(add_odd_rows)()
    queue = {"queue": "django_dyncron.testing.RecordingEnqueuer"}
    with override_settings(DYNCRON={"ENQUEUERS": queue}):
        async with open_scheduler(observers=[server]) as scheduler:
            await scheduler.start(max_ticks=1)
        text, _ = await sync_to_async(scrape)(server)
    read = samples(text)
    rows = await sync_to_async(figures_of_rows)()
    assert rows["enqueued"] == {("default", "default"): 2}
    assert rows["finished"] == {("succeeded",): 2, ("lost",): 1, ("unknown",): 1}
    assert rows["skipped"] == {("superseded",): 1, ("deleted",): 2}
    assert by_labels(read, "dyncron_runs_enqueued_total") == rows["enqueued"]
    assert by_labels(read, "dyncron_runs_finished_total") == rows["finished"]
    assert by_labels(read, "dyncron_slots_skipped_total") == rows["skipped"]
    assert one(read, "dyncron_lateness_seconds_count") == len(rows["lateness"]) == 1


async def test_openmetrics_says_the_same(server: MetricsServer) -> None:
    await sync_to_async(add_jobs)("good", 3, "ping", payload={"url": "/"})
    async with open_scheduler(observers=[server]) as scheduler:
        await scheduler.start(max_ticks=1)
    text, kind = await sync_to_async(scrape)(server, OPENMETRICS)
    assert kind.startswith("application/openmetrics-text")
    families = {family.name: family for family in openmetrics_families(text)}
    totals = [
        sample.value
        for sample in families["dyncron_runs_enqueued"].samples
        if sample.name == "dyncron_runs_enqueued_total"
    ]
    assert totals == [3]
    plain = text_string_to_metric_families((await sync_to_async(scrape)(server))[0])
    assert {family.name for family in plain} >= set(families)


def test_what_can_happen_is_there_from_the_beginning(server: MetricsServer) -> None:
    read = samples(scrape(server)[0])
    labels = Counter(name for name, _ in read)
    assert labels["dyncron_runs_finished_total"] == 4
    assert labels["dyncron_slots_skipped_total"] == 5
    assert labels["dyncron_lock_failures_total"] == 2
    assert one(read, "dyncron_healthy") == 0  # nobody has ever run a scheduler
    assert one(read, "dyncron_replicas", state="running") == 0
    assert one(read, "process_open_fds") > 0


def test_every_metric_has_words_and_a_place_in_the_reference(server: MetricsServer) -> None:
    Replica.objects.create(replica_id="here:1", tick_interval_seconds=30)
    reference = (DOCS / "reference" / "metrics.rst").read_text()
    families = [
        family
        for family in text_string_to_metric_families(scrape(server)[0])
        if family.name.startswith("dyncron_")
    ]
    assert len(families) > 15
    for family in families:
        name = family.name + ("_total" if family.type == "counter" else "")
        if name.endswith("_created"):
            continue
        assert family.documentation.endswith("."), name
        assert f"``{name}``" in reference, name


def test_closing_ends_the_thread_and_frees_the_port(transactional_db: None) -> None:
    before = threading.active_count()
    server = serve_metrics("127.0.0.1", 0)
    scrape(server)
    with pytest.raises(OSError, match="in use"):
        serve_metrics("127.0.0.1", server.port)
    server.close()
    again = serve_metrics("127.0.0.1", server.port)
    again.close()
    assert threading.active_count() <= before + 1  # one may still be reading


# --- the database's side --------------------------------------------------------------------------


def test_gauges_tell_of_the_rows(server: MetricsServer) -> None:
    long_ago = datetime.now(UTC) - timedelta(hours=2)
    job = CronJob.objects.create(
        job_id="forgotten", task_name=f"{TASK}.ping", cron_expression="0 * * * *"
    )
    CronJob.objects.filter(pk=job.pk).update(plan_from=long_ago)
    pause_all("move", by="ops")
    read = samples(scrape(server)[0])
    assert one(read, "dyncron_paused") == 1
    assert one(read, "dyncron_database_up") == 1
    assert abs(one(read, "dyncron_clock_skew_seconds")) < 5
    assert one(read, "dyncron_runs_waiting") == 0
    assert one(read, "dyncron_jobs_failing") == 0


def test_a_database_that_is_away_hides_no_counter(
    django_db_blocker: DjangoDbBlocker, transactional_db: None
) -> None:
    with database_alias("away", "postgresql://127.0.0.1:1/nowhere"):
        server = serve_metrics("127.0.0.1", 0, "away")
        try:
            server(LockFailed("no redis", "skip"))
            read = samples(scrape(server)[0])
        finally:
            server.close()
    assert one(read, "dyncron_database_up") == 0
    assert one(read, "dyncron_lock_failures_total", decision="skip") == 1
    assert not [name for name, _ in read if name in ("dyncron_jobs_overdue", "dyncron_healthy")]


def test_reading_that_fails_hides_no_counter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Health:
        raise ZeroDivisionError

    monkeypatch.setattr(gauges_module, "read_health_in_time", fail)
    (family,) = HealthCollector().collect()
    assert (family.name, family.samples[0].value) == ("dyncron_database_up", 0)
    assert "Cannot read the figures for the metrics" in caplog.text


def test_many_scrapers_ask_the_database_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, str | None]] = []

    def read(seconds: float, using: str | None) -> Health:
        asked.append((seconds, using))
        time.sleep(0.05)
        return Health(read_at=NOON)

    monkeypatch.setattr(gauges_module, "read_health_in_time", read)
    collector = HealthCollector("elsewhere")
    threads = [threading.Thread(target=lambda: list(collector.collect())) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == [(3.0, "elsewhere")]
    collector._asks_again_at -= 5
    assert len(list(collector.collect())) > 8
    assert len(asked) == 2


def test_registering_reads_nothing() -> None:
    CollectorRegistry(auto_describe=True).register(HealthCollector("nowhere"))


# --- what is counted ------------------------------------------------------------------------------


async def test_trouble_is_counted() -> None:
    registry = CollectorRegistry()
    clock = FakeClock(NOON)
    store = InMemoryRepository(clock.now)
    store.add(
        CronJobDefinition("a", "shop.a", "1 * * * *"),
        CronJobDefinition("b", "shop.b", "1 * * * *", delivery="at_most_once", queue="slow"),
    )
    errors = {"shop.a": [EnqueueNotSent("no")] * 2, "shop.b": [EnqueueError("timed out")]}
    metrics = DyncronMetrics(registry)
    scheduler = DynamicScheduler(store, RecordingEnqueuer(errors), clock=clock, observers=[metrics])
    for seconds in (0, 30, 30, 120):
        clock.advance(seconds)
        await scheduler.tick()
    lost = next(iter(store.runs.values())).run
    for event in (
        RunLost(lost),
        LockFailed("no redis", "claim"),
        StepFailed("the sweep", ValueError()),
        TickFailed(ValueError(), timedelta(seconds=1)),
    ):
        metrics(event)
    way = {"enqueuer": "default", "queue": "default"}
    counted = {
        "dyncron_delivery_failures_total": (way, 2),
        "dyncron_runs_enqueued_total": (way, 1),
        "dyncron_step_failures_total": ({}, 1),
        "dyncron_tick_failures_total": ({}, 1),
        "dyncron_tick_duration_seconds_count": ({}, 4),
        "dyncron_lateness_seconds_sum": ({}, 150),
    }
    for name, (labels, value) in counted.items():
        assert registry.get_sample_value(name, labels) == value, name
    finished = {
        status: registry.get_sample_value("dyncron_runs_finished_total", {"status": status})
        for status in ("succeeded", "failed", "unknown", "lost")
    }
    assert finished == {"succeeded": 0, "failed": 0, "unknown": 1, "lost": 1}
    assert registry.get_sample_value("dyncron_lock_failures_total", {"decision": "claim"}) == 1


def test_queues_without_end_end_in_one_label() -> None:
    """Whoever may edit jobs writes the names of queues: a label must not grow with them."""
    registry = CollectorRegistry()
    metrics = DyncronMetrics(registry)
    for number in range(1000):
        run = Run(UUID(int=number), "a", "b", {}, f"queue-{number}", NOON)
        metrics(RunEnqueued(run, NOON))
        metrics(RunFailed(run, "no", NOON))
    for name in ("dyncron_runs_enqueued_total", "dyncron_delivery_failures_total"):
        values = [
            registry.get_sample_value(name, {"enqueuer": "default", "queue": queue})
            for queue in ("queue-0", "queue-98", "queue-99", "(other)")
        ]
        assert values == [1, 1, None, 901], name
    (family,) = [each for each in registry.collect() if each.name == "dyncron_runs_enqueued"]
    assert len([each for each in family.samples if each.name.endswith("_total")]) == 100


COUNTED = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from django_dyncron.core.events import TickFailed
from django_dyncron.metrics import DyncronMetrics
DyncronMetrics()(TickFailed(ValueError(), None))
"""


def test_many_processes_are_one_series(tmp_path: Path) -> None:
    """Prometheus' multiprocess mode keeps a gauge of each process, unless it is told otherwise."""
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(3):
        subprocess.run([sys.executable, "-c", COUNTED], env=environment, check=True)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(tmp_path))
    families = {family.name: family.samples for family in registry.collect()}
    assert [each.value for each in families["dyncron_tick_failures"]] == [3]
    labels = [each.labels for each in families["dyncron_build_info"]]
    assert labels == [{"version": __version__}]
    assert len(families["dyncron_last_tick_timestamp_seconds"]) == 1


@pytest.mark.django_db(transaction=True)
def test_a_worker_counts_by_signals() -> None:
    registry = CollectorRegistry()
    metrics = DyncronMetrics(registry)
    metrics.connect()
    try:
        for number in range(3):
            CronRun.objects.create(
                id=UUID(int=number), job_id="a", task_name="shop.a", status=RunStatus.ENQUEUED
            )
            run = CurrentRun(UUID(int=number), "a", None)
            work = Work(run)
            work.begin()
            work.end("no paper" if number == 2 else "")
    finally:
        metrics.disconnect()
    with Work(CurrentRun(UUID(int=2), "a", None)):
        pass
    assert not any(getattr(signals, name).has_listeners() for name in signals.__all__)
    assert registry.get_sample_value("dyncron_runs_started_total") == 3
    for status, count in (("succeeded", 2), ("failed", 1)):
        labels = {"status": status}
        assert registry.get_sample_value("dyncron_runs_finished_total", labels) == count


def test_nobody_imports_prometheus_unasked() -> None:
    code = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
        "import django; django.setup()\n"
        "import django_dyncron.wiring, django_dyncron.asgi, django_dyncron.tasks, sys\n"
        "from django_dyncron.management.commands import run_dyncron\n"
        "print('prometheus_client' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
