"""Pausing everything in the admin, and the banners over the list and the form."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.test import Client

from django_dyncron.models import Pause, Replica
from tests.django.admin_pages import (
    JOBS,
    a_job,
    at,
    client_with,
    crumbs,
    the_database_keeps_time,
)

pytestmark = pytest.mark.django_db

PAUSE, RESUME = f"{JOBS}pause-everything/", f"{JOBS}resume-everything/"


@pytest.fixture(autouse=True)
def _database_time(monkeypatch: pytest.MonkeyPatch) -> None:
    the_database_keeps_time(monkeypatch)


@pytest.fixture
def pauser() -> Client:
    return client_with("view_cronjob", "pause_cronjob", name="ann")


def banners(client: Client, address: str = JOBS) -> list[str]:
    """Return what the banners of a page say, their buttons included."""
    text = client.get(address).content.decode()
    (found,) = re.findall(
        r'<ul class="messagelist dyncron-banners">(.*?)</ul>', text, re.DOTALL
    ) or [""]
    items = re.findall(r"<li[^>]*>(.*?)</li>", found, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", item).split()) for item in items]


def a_replica(replica_id: str, seen_at: Any, **values: Any) -> Replica:
    values = {"tick_interval_seconds": 30, "started_at": seen_at, **values}
    replica: Replica = Replica.objects.create(replica_id=replica_id, seen_at=seen_at, **values)
    return replica


def log() -> list[tuple[str, str]]:
    entries: Any = LogEntry.objects.order_by("pk").values_list("user__username", "change_message")
    return list(entries)


# --- everything is paused -------------------------------------------------------------------------


def test_everything_is_paused_with_a_reason_and_resumed(pauser: Client) -> None:
    assert f'<a href="{PAUSE}">Pause everything</a>' in pauser.get(JOBS).content.decode()
    asked = pauser.get(PAUSE).content.decode()
    assert "No cron job is run until somebody resumes everything." in asked
    assert not Pause.objects.exists()

    assert pauser.post(PAUSE, {"reason": "Deploy <14:00>"}).headers["Location"] == JOBS

    pause = Pause.objects.get()
    assert (pause.reason, pause.paused_by, pause.until) == ("Deploy <14:00>", "ann", None)
    assert "Deploy &lt;14:00&gt;" in pauser.get(JOBS).content.decode()
    assert PAUSE not in pauser.get(JOBS).content.decode()

    answer = pauser.post(RESUME, follow=True)
    assert "slots that passed meanwhile are not made up" in answer.content.decode()
    pause.refresh_from_db()
    assert pause.until is not None
    assert pause.resumed_by == "ann"
    assert log() == [("ann", "Paused everything: Deploy <14:00>"), ("ann", "Resumed everything.")]


def test_who_comes_second_pauses_and_resumes_nothing(pauser: Client) -> None:
    Pause.objects.create(reason="First.", paused_by="bob")

    for answer in (pauser.get(PAUSE, follow=True), pauser.post(PAUSE, {"reason": ""}, follow=True)):
        assert "Everything is paused already." in answer.content.decode()
    pauser.post(RESUME)
    pauser.post(RESUME)

    assert Pause.objects.values_list("paused_by", "resumed_by").get() == ("bob", "ann")
    assert log() == [("ann", "Resumed everything.")]


def test_who_is_overtaken_while_pausing_is_told_and_not_logged(
    pauser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pause.objects.create(reason="First.", paused_by="bob")
    # As it was when the other one had not pressed yet.
    monkeypatch.setattr("django_dyncron.admin.pausing.pausing.current_pause", lambda: None)

    answer = pauser.post(PAUSE, {"reason": "Second."})
    assert answer.headers["Location"] == JOBS
    assert log() == []
    assert Pause.objects.values_list("reason", "paused_by").get() == ("First.", "bob")
    told = [str(message) for message in get_messages(answer.wsgi_request)]
    assert told == ["Everything is paused already."]


def test_to_pause_everything_takes_the_permission_to_look_besides() -> None:
    blind = client_with("pause_cronjob")

    assert blind.get(PAUSE).status_code == 403
    assert blind.post(PAUSE, {"reason": ""}).status_code == 403
    Pause.objects.create()
    assert blind.post(RESUME).status_code == 403
    assert Pause.objects.filter(until=None).count() == 1


def test_the_page_tells_the_way_back(pauser: Client) -> None:
    assert crumbs(pauser.get(PAUSE)) == [
        ("/admin/", "Home"),
        ("/admin/django_dyncron/", "Cron jobs"),
        (JOBS, "Cron jobs"),
        "Pause everything",
    ]


def test_to_pause_everything_takes_the_permission_to_pause() -> None:
    editor = client_with("view_cronjob", "change_cronjob", "run_cronjob")

    assert editor.get(PAUSE).status_code == 403
    assert editor.post(PAUSE, {"reason": ""}).status_code == 403
    assert "Pause everything" not in editor.get(JOBS).content.decode()
    Pause.objects.create()
    assert editor.post(RESUME).status_code == 403
    assert Pause.objects.filter(until=None).exists()


def test_looking_at_the_address_to_resume_resumes_nothing(pauser: Client) -> None:
    Pause.objects.create()

    assert pauser.get(RESUME).status_code == 405
    assert Pause.objects.filter(until=None).exists()


@time_machine.travel(at("2026-11-30T12:00Z"), tick=False)
def test_a_banner_lasts_as_long_as_the_pause(pauser: Client) -> None:
    a_replica("web-1", at("2026-11-30T12:00Z"))
    job = a_job()
    viewer = client_with("view_cronjob", name="viewer")
    assert banners(viewer) == []

    Pause.objects.create(since=at("2026-11-30T10:02Z"), reason="deploy", paused_by="ann")

    told = "Everything is paused since 10:02 by ann: deploy"
    assert banners(viewer) == [told]
    assert banners(viewer, f"{JOBS}{job.pk}/change/") == [told]
    assert banners(pauser) == [f"{told} Resume everything"]

    Pause.objects.update(until=at("2026-11-30T11:00Z"))
    assert banners(viewer) == []
    Pause.objects.create(since=at("2026-11-29T10:02Z"))
    assert banners(viewer) == ["Everything is paused since 2026-11-29 10:02 UTC."]


# --- no scheduler is there ------------------------------------------------------------------------


@time_machine.travel(at("2026-11-30T10:00Z"), tick=False)
def test_a_banner_tells_when_no_scheduler_ticks(pauser: Client) -> None:
    assert banners(pauser) == ["No scheduler has ever run: start “manage.py run_dyncron”."]

    a_replica("web-1", at("2026-11-30T09:40Z"))
    a_replica("web-2", at("2026-11-30T09:57Z"))
    (told,) = banners(pauser)
    assert told.replace("\xa0", " ") == (
        "No scheduler has ticked for 3 minutes (last: web-2, 09:57)."
    )

    a_replica("web-3", at("2026-11-30T09:59Z"), stopped_at=at("2026-11-30T09:59Z"))
    (told,) = banners(pauser)
    assert told.replace("\xa0", " ") == (
        "No scheduler has run for 1 minute (last: web-3, stopped 09:59)."
    )


@pytest.mark.parametrize(
    "interval, ago, is_silent", [(30, 90, False), (30, 91, True), (300, 360, False)]
)
def test_a_replica_is_heard_for_as_long_as_it_may_be_silent(
    pauser: Client, interval: int, ago: int, is_silent: bool
) -> None:
    with time_machine.travel(at("2026-11-30T10:00Z"), tick=False):
        seen_at = at("2026-11-30T10:00Z") - timedelta(seconds=ago)
        a_replica("web-1", seen_at, tick_interval_seconds=interval)
        a_replica("gone", at("2026-11-30T09:00Z"))

        assert bool(banners(pauser)) is is_silent
