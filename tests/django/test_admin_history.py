"""Runs and replicas in the admin: to read, never to write."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_dyncron import ITaskEnqueuer
from django_dyncron.admin import capped
from django_dyncron.models import CronLock, CronRun, Replica
from tests.django.admin_pages import (
    REPLICAS,
    RUNS,
    TASK,
    at,
    client_with,
    the_database_keeps_time,
)

pytestmark = pytest.mark.django_db

NOON = at("2026-11-30T12:00Z")


class PagedEnqueuer(ITaskEnqueuer):
    """An enqueuer whose queue has pages; of one task it has lost the page, on one it stumbles."""

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        """Do nothing."""

    def task_url(self, task_id: str, queue: str) -> str | None:
        if task_id == "broken":
            raise RuntimeError("boom")
        return None if task_id == "lost" else f"/queues/{queue}/{task_id}/"


PAGED = f"{__name__}.PagedEnqueuer"


@pytest.fixture
def everything() -> Client:
    models = ("cronrun", "replica")
    verbs = ("view", "add", "change", "delete")
    return client_with(*(f"{verb}_{model}" for verb in verbs for model in models))


def a_run(job_id: str = "newsletter", **values: object) -> CronRun:
    usual = {"scheduled_for": NOON, "status": "succeeded", "task_name": TASK}
    run: CronRun = CronRun.objects.create(id=uuid4(), job_id=job_id, **(usual | values))
    return run


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def ids(client: Client, query: str) -> set[str]:
    return {run.job_id for run in client.get(RUNS + query).context["cl"].result_list}


def test_a_run_shows_how_late_it_was_and_how_long_it_took(everything: Client) -> None:
    a_run(
        enqueued_at=NOON + timedelta(seconds=75),
        started_at=NOON + timedelta(seconds=76),
        finished_at=NOON + timedelta(seconds=78, milliseconds=500),
        replica="web-2",
        error="OSError: disk full",
    )

    text = page(everything, RUNS)

    for words in ("2026-11-30 12:00 UTC", "1 min 15 s", "2.5 s", "web-2", "OSError: disk full"):
        assert words in text


def test_a_run_in_full(everything: Client) -> None:
    run = a_run(status="skipped", reason="overlap", payload={"user_id": 7}, created_at=NOON)

    text = page(everything, f"{RUNS}{run.pk}/change/")

    assert "skipped (overlapping)" in text
    assert "&quot;user_id&quot;: 7" in text
    assert "2026-11-30 12:00:00 UTC" in text
    assert str(run.pk) in text


def test_skipped_stretches_and_manual_runs_name_their_times(everything: Client) -> None:
    a_run("skips", status="skipped", skipped_until=NOON + timedelta(hours=5), slot_count=301)
    a_run("by-hand", scheduled_for=None, kind="manual", created_at=NOON + timedelta(minutes=3))

    text = page(everything, RUNS)

    assert "2026-11-30 12:00 UTC – 2026-11-30 17:00 UTC" in text
    assert "by hand, 2026-11-30 12:03 UTC" in text


def test_runs_can_be_filtered_and_searched(everything: Client) -> None:
    a_run("good")
    a_run("bad", status="failed")
    a_run("asked-for", scheduled_for=None, kind="manual")

    assert ids(everything, "?status__exact=failed") == {"bad"}
    assert ids(everything, "?kind__exact=manual") == {"asked-for"}
    assert ids(everything, "?q=oo") == {"good"}
    assert ids(everything, "?job=bad") == {"bad"}


def test_runs_can_be_filtered_by_queue_system(everything: Client, settings: Any) -> None:
    settings.DYNCRON = {"ENQUEUERS": {"mail": "local"}}
    a_run("unnamed")
    a_run("default", enqueuer="default")
    a_run("mail", enqueuer="mail")

    assert ids(everything, "?enqueuer=default") == {"unnamed", "default"}
    assert ids(everything, "?enqueuer=mail") == {"mail"}
    assert "By queue system" in page(everything, RUNS)


def test_one_queue_system_is_nothing_to_filter_by(everything: Client) -> None:
    a_run()

    assert "By queue system" not in page(everything, RUNS)


@time_machine.travel(NOON, tick=False)
def test_runs_can_be_filtered_by_time(everything: Client) -> None:
    a_run("today", created_at=NOON)
    a_run("last week", created_at=NOON - timedelta(days=9))

    today = "?created_at__gte=2026-11-30+00%3A00%3A00%2B00%3A00"

    assert ids(everything, today) == {"today"}
    assert "Past 7 days" in page(everything, RUNS)


def test_who_asked_for_a_run_is_told(everything: Client) -> None:
    run = a_run(scheduled_for=None, kind="manual", asked_by="ann")

    assert "<small>ann</small>" in page(everything, RUNS)
    assert re.search(r"Asked for by.{1,99}ann<", page(everything, f"{RUNS}{run.pk}/change/"))


def test_the_newest_run_is_first_and_other_orders_are_not_offered(everything: Client) -> None:
    for number in (2, 1, 3):
        a_run(f"job-{number}", created_at=NOON + timedelta(minutes=number))

    shown = [run.job_id for run in everything.get(RUNS).context["cl"].result_list]
    html = page(everything, RUNS)

    assert shown == ["job-3", "job-2", "job-1"]
    assert re.findall(r'class="sortable column-(\w+)', html) == ["slot"]


def test_a_long_history_is_not_counted_to_its_end(
    everything: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capped, "MOST", 3)
    for number in range(5):
        a_run(f"job-{number}", created_at=NOON + timedelta(minutes=number))

    with CaptureQueriesContext(connection) as queries:
        text = page(everything, RUNS)

    assert "There may be more than these 3" in text
    counts = [query["sql"] for query in queries if "COUNT(" in query["sql"]]
    assert len(counts) == 1
    assert "LIMIT 3" in counts[0]
    assert "There may be more" not in page(everything, f"{RUNS}?job=job-1")


def test_a_task_is_linked_to_its_page_in_the_queue(everything: Client, settings: Any) -> None:
    settings.DYNCRON = {"ENQUEUER": PAGED}
    run = a_run(task_id="4711", queue="mail")
    a_run("no page", task_id="lost")
    a_run("no task", scheduled_for=None)

    for address in (RUNS, f"{RUNS}{run.pk}/change/"):
        html = page(everything, address)
        assert 'href="/queues/mail/4711/"' in html
        assert html.count('href="/queues/') == 1
    assert "lost" in page(everything, RUNS)


@pytest.mark.parametrize("enqueuer", [PAGED, "no.such.Enqueuer"])
def test_a_task_without_a_page_is_still_shown(
    everything: Client, settings: Any, enqueuer: str
) -> None:
    settings.DYNCRON = {"ENQUEUER": enqueuer}
    a_run(task_id="broken")
    a_run("gone", enqueuer="gone", task_id="0815", scheduled_for=None)

    text = page(everything, RUNS)

    assert ">broken</span>" in text
    assert ">0815</span>" in text


def test_the_number_of_queries_does_not_grow(everything: Client) -> None:
    asked = []
    for count in (10, 90):
        for number in range(count):
            a_run(f"job-{count}-{number}", task_id="4711")
        with CaptureQueriesContext(connection) as queries:
            page(everything, RUNS)
        asked.append(len(queries))

    assert asked[0] == asked[1] <= 8


def test_what_a_task_reported_stays_text(everything: Client) -> None:
    run = a_run("<script>", error="<script>", replica="<script>", payload={"<script>": 1})

    assert "<script>" not in page(everything, RUNS)
    assert "<script>" not in page(everything, f"{RUNS}{run.pk}/change/")


def test_history_is_read_only_whatever_one_may_otherwise(everything: Client) -> None:
    run = a_run()
    Replica.objects.create(replica_id="web1", tick_interval_seconds=30)
    for address, key in ((RUNS, str(run.pk)), (REPLICAS, "web1")):
        assert everything.get(f"{address}add/").status_code == 403
        assert everything.post(f"{address}{key}/change/", {"error": "x"}).status_code == 403
        assert everything.post(f"{address}{key}/delete/", {"post": "yes"}).status_code == 403
        data = {"action": "delete_selected", "_selected_action": [key], "post": "yes"}
        everything.post(address, data)

    assert CronRun.objects.get().error == ""
    assert Replica.objects.count() == 1


def test_history_needs_the_permission_to_view() -> None:
    run = a_run()
    client = client_with("view_cronjob")

    for address in (RUNS, f"{RUNS}{run.pk}/change/", REPLICAS):
        assert client.get(address).status_code == 403


@time_machine.travel(NOON, tick=False)
def test_replicas_say_whether_they_live(
    everything: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_database_keeps_time(monkeypatch)
    Replica.objects.create(
        replica_id="alive", tick_interval_seconds=30, seen_at=NOON - timedelta(seconds=80)
    )
    Replica.objects.create(
        replica_id="slow", tick_interval_seconds=600, seen_at=NOON - timedelta(seconds=650)
    )
    Replica.objects.create(
        replica_id="dead", tick_interval_seconds=30, seen_at=NOON - timedelta(seconds=100)
    )
    Replica.objects.create(
        replica_id="left", tick_interval_seconds=30, seen_at=NOON, stopped_at=NOON
    )

    rows = page(everything, REPLICAS).split("<tr>")
    states = {
        name: word
        for row in rows
        for name in ("alive", "slow", "dead", "left")
        for word in ("Running", "Silent", "Stopped")
        if f">{name}<" in row and word in row
    }

    assert states == {"alive": "Running", "slow": "Running", "dead": "Silent", "left": "Stopped"}


def test_locks_are_nobodys_business() -> None:
    assert not admin.site.is_registered(CronLock)
