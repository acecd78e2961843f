"""Runs and replicas in the admin: to read, never to write."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.contrib import admin
from django.test import Client

from django_dyncron.models import CronLock, CronRun, Replica
from tests.django.admin_pages import REPLICAS, RUNS, TASK, at, client_with

pytestmark = pytest.mark.django_db

NOON = at("2026-11-30T12:00Z")


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

    assert "skipped (overlap)" in text
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
def test_replicas_say_whether_they_live(everything: Client) -> None:
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
