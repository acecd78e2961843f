"""The overview in the admin: planned load, what is wrong, what is paused, who runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib import admin
from django.core.cache import cache
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpRequest
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_dyncron.admin import CronJobAdmin
from django_dyncron.models import CronJob, Replica
from django_dyncron.pausing import pause_all
from tests.django.admin_pages import (
    JOBS,
    TASK,
    a_job,
    client_with,
    crumbs,
    the_database_keeps_time,
)
from tests.django.overview_page import MONDAY, OVERVIEW, page, section, text_of

pytestmark = pytest.mark.django_db

PLANNED = {
    "cron_expression": "30 6 * * *",
    "planned_cron_expression": "30 6 * * *",
    "planned_time_zone": "",
    "planned_dst_gap": "run_after",
    "planned_dst_fold": "first",
    "plan_from": None,
}


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(autouse=True)
def _database_time(monkeypatch: pytest.MonkeyPatch) -> None:
    the_database_keeps_time(monkeypatch)


@pytest.fixture
def viewer() -> Client:
    return client_with("view_cronjob", "view_replica")


def a_planned_job(job_id: str, **values: Any) -> None:
    job = a_job(job_id)
    CronJob.objects.filter(pk=job.pk).update(**(PLANNED | values))


def overdue(job_id: str, minutes: int) -> None:
    a_planned_job(job_id, next_run_at=MONDAY - timedelta(minutes=minutes))


def broken(job_id: str, error: str = "Day 31 does not exist in February.") -> None:
    a_planned_job(job_id, is_settled=True, last_error=error, planned_in_zone="")


def paused(job_id: str, reason: str = "") -> None:
    a_planned_job(job_id, is_active=False, pause_reason=reason, next_run_at=None)


def test_only_those_who_may_see_cron_jobs_see_it() -> None:
    assert client_with("view_cronrun", "view_replica").get(OVERVIEW).status_code == 403
    assert Client().get(OVERVIEW).status_code == 302
    assert client_with("view_cronjob", name="viewer").get(OVERVIEW).status_code == 200


def test_it_only_ever_shows(viewer: Client) -> None:
    assert viewer.post(OVERVIEW).status_code == 405


def test_the_list_and_the_index_of_the_app_lead_to_it(viewer: Client) -> None:
    for address in (JOBS, "/admin/django_dyncron/"):
        assert f'href="{OVERVIEW}"' in page(viewer, address)


def test_the_index_of_the_app_does_not_lead_where_one_may_not_go() -> None:
    assert OVERVIEW not in page(client_with("view_cronrun"), "/admin/django_dyncron/")


@time_machine.travel(MONDAY, tick=False)
def test_without_jobs_it_says_that_there_is_nothing(viewer: Client) -> None:
    text = text_of(page(viewer))

    for words in (
        "No slot waits for a scheduler.",
        "Every schedule can be planned.",
        "No cron job is paused.",
        "Nothing is planned in the next 24 hours.",
    ):
        assert words in text


@time_machine.travel(MONDAY, tick=False)
def test_what_waits_in_vain_is_listed_longest_first(viewer: Client) -> None:
    overdue("late", 5)
    overdue("later", 20)
    overdue("in time", 1)

    found = section(page(viewer), "Overdue")

    assert text_of(found) == (
        "later 20 minutes ago 2026-11-30 10:00 UTC late 5 minutes ago 2026-11-30 10:15 UTC"
    )
    job = CronJob.objects.get(job_id="later")
    assert f'<a href="{JOBS}{job.pk}/change/">later</a>' in found


@time_machine.travel(MONDAY, tick=False)
def test_what_is_broken_or_paused_says_why(viewer: Client) -> None:
    broken("february")
    paused("invoices", "until the audit is over")

    html = page(viewer)

    assert text_of(section(html, "Broken")) == "february Day 31 does not exist in February."
    assert text_of(section(html, "Paused")) == "invoices until the audit is over"


class _MineAdmin(CronJobAdmin):
    def get_queryset(self, request: HttpRequest) -> QuerySet[CronJob]:
        return super().get_queryset(request).filter(job_id__startswith="mine-")


@time_machine.travel(MONDAY, tick=False)
def test_jobs_that_the_list_hides_are_not_listed_here(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin.site._registry[CronJob], "__class__", _MineAdmin)
    for whose in ("mine", "theirs"):
        overdue(f"{whose}-1", 10)
        broken(f"{whose}-2", f"Error of {whose}.")
        paused(f"{whose}-3", f"Reason of {whose}.")

    html = page(viewer)

    assert "theirs" not in html
    assert text_of(section(html, "Broken")) == "mine-2 Error of mine."
    assert text_of(section(html, "Paused")) == "mine-3 Reason of mine."


def test_it_tells_the_way_back(viewer: Client) -> None:
    assert crumbs(viewer.get(OVERVIEW)) == [
        ("/admin/", "Home"),
        ("/admin/django_dyncron/", "Cron jobs"),
        (JOBS, "Cron jobs"),
        "Overview",
    ]


@time_machine.travel(MONDAY, tick=False)
def test_long_lists_show_twenty_and_lead_to_all(viewer: Client) -> None:
    for number in range(21):
        overdue(f"late-{number:02}", 10 + number)
    for number in range(20):
        paused(f"paused-{number:02}")

    html = page(viewer)

    assert section(html, "Overdue").count("late-") == 20
    assert "late-00" not in section(html, "Overdue")
    assert f'<a href="{JOBS}?state=overdue">All of them</a>' in section(html, "Overdue")
    assert section(html, "Paused").count("paused-") == 20
    assert "All of them" not in section(html, "Paused")


@time_machine.travel(MONDAY, tick=False)
def test_states_are_counted_and_lead_to_the_jobs_in_them(viewer: Client) -> None:
    a_job("one")
    a_job("two")
    broken("february")
    paused("invoices")

    html = page(viewer)

    for words in ("2 ● Active", "0 ▲ Failing", "1 ▲ Broken", "1 ○ Paused", "0 ○ Ended"):
        assert words in text_of(html)
    assert f'<a href="{JOBS}?state=broken"><strong>1</strong>' in html


@time_machine.travel(MONDAY, tick=False)
def test_it_shows_the_database_of_the_scheduler(
    viewer: Client, settings: Any, postgres_alias: str
) -> None:
    a_job("here")
    there = CronJob.objects.using(postgres_alias)
    for name in ("there", "there, too"):
        there.create(job_id=name, task_name=TASK, cron_expression="0 12 * * *")
    there.filter(job_id="there").update(is_active=False)
    Replica.objects.using(postgres_alias).create(replica_id="web-9", tick_interval_seconds=30)
    settings.DYNCRON = {"DATABASE": postgres_alias}

    html = page(viewer)

    assert "1 ● Active" in text_of(html)
    assert text_of(section(html, "Paused")) == "there"
    assert "<title>Mon 30 Nov, 12:00: 1 run</title>" in html
    assert "web-9" in section(html, "Replicas")


@time_machine.travel(MONDAY, tick=False)
def test_replicas_tell_of_themselves(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_dyncron.admin.replicas.tzdata_version", lambda: "2026b")
    monkeypatch.setattr("django_dyncron.admin.replicas.__version__", "1.2")
    for name, version, tzdata, seconds in (("web-1", "1.2", "2026b", 10), ("web-2", "1.1", "", 20)):
        Replica.objects.create(
            replica_id=name,
            version=version,
            tzdata_version=tzdata,
            tick_interval_seconds=30,
            seen_at=MONDAY - timedelta(seconds=seconds),
        )
    Replica.objects.create(
        replica_id="old",
        tzdata_version="2025a",
        tick_interval_seconds=30,
        seen_at=MONDAY - timedelta(minutes=30),
    )

    rows = section(page(viewer), "Replicas").split("<tr>")[2:]

    assert [text_of(row) for row in rows] == [
        "web-1 ● Running 10 s ago 2026-11-30 10:19 UTC 1.2 2026b",
        "web-2 ● Running 20 s ago 2026-11-30 10:19 UTC 1.1 ▲ here 1.2 –",
        "old ▲ Silent 30 minutes ago 2026-11-30 09:50 UTC – 2025a ▲ here 2026b",
    ]


def test_replicas_are_shown_to_those_who_may_see_them() -> None:
    Replica.objects.create(replica_id="web-1", tick_interval_seconds=30)

    assert "<h2>Replicas</h2>" not in page(client_with("view_cronjob"))


def test_it_says_that_everything_is_paused(viewer: Client) -> None:
    pause_all("deploy", "ann")

    assert re.search(r"Everything is paused since \S+ by ann: deploy", text_of(page(viewer)))


@time_machine.travel(MONDAY, tick=False)
def test_names_and_reasons_stay_text(viewer: Client) -> None:
    overdue("<script>1", 10)
    broken("<script>2", "<script>")
    paused("<script>3", "<script>")
    Replica.objects.create(replica_id="<script>", tick_interval_seconds=30, version="<script>")

    html = page(viewer)

    assert "<script>" not in html
    assert html.count("&lt;script&gt;") >= 7


@time_machine.travel(MONDAY, tick=False)
def test_nothing_in_it_needs_more_than_a_strict_content_security_policy(viewer: Client) -> None:
    overdue("late", 10)
    content = page(viewer).split('id="content-main"')[1]

    assert not re.search(r"<script|<style|\sstyle=|\son\w+=|javascript:", content)


def test_the_number_of_queries_does_not_grow(viewer: Client) -> None:
    asked = []
    with time_machine.travel(MONDAY, tick=False):
        for jobs in (10, 90):
            for number in range(jobs):
                overdue(f"late-{jobs}-{number}", 10)
                broken(f"broken-{jobs}-{number}")
                paused(f"paused-{jobs}-{number}")
                Replica.objects.create(replica_id=f"{jobs}-{number}", tick_interval_seconds=30)
            cache.clear()
            with CaptureQueriesContext(connection) as queries:
                page(viewer)
            asked.append(len(queries))

    assert asked[0] == asked[1] <= 15
