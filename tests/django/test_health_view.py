"""The health view: its answers, what it reveals to whom, and what it needs of a project."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import AsyncClient, Client
from django.urls import reverse
from django.utils import timezone

from django_dyncron import __version__, views
from django_dyncron.core.tzdata import tzdata_version
from django_dyncron.models import CronJob, Pause, Replica

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.django.health_urls")]

ADDRESS = "/cron/health/"
TOKEN = "s3cret-ü"


@pytest.fixture(autouse=True)
def dyncron(settings: Any) -> dict[str, Any]:
    dyncron: dict[str, Any] = {}
    settings.DYNCRON = dyncron
    return dyncron


def a_replica(seconds_ago: float = 5, replica_id: str = "host-7:41") -> None:
    Replica.objects.create(
        replica_id=replica_id,
        tick_interval_seconds=30,
        seen_at=timezone.now() - timedelta(seconds=seconds_ago),
        version=__version__,
        tzdata_version=tzdata_version(),
    )


def a_broken_job() -> None:
    CronJob.objects.create(
        job_id="payroll",
        task_name="shop.tasks.report",
        cron_expression="0 0 31 2 *",
        planned_cron_expression="0 0 31 2 *",
        planned_time_zone="",
        planned_dst_gap="run_after",
        planned_dst_fold="first",
        plan_from=None,
        is_settled=True,
        last_error="It never fires.",
    )


def test_it_has_a_name() -> None:
    assert reverse("django_dyncron:health") == ADDRESS


def test_200_while_all_is_well(client: Client) -> None:
    a_replica()
    answer = client.get(ADDRESS)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert "no-store" in answer.headers["Cache-Control"]
    report = answer.json()
    assert (report["status"], report["problems"], report["warnings"]) == ("healthy", [], [])
    assert 4 <= report["replicas"].pop("last_sign_of_life_seconds") <= 30
    assert report["replicas"] == {"running": 1, "silent": 0, "stopped": 0}


def test_503_once_nobody_is_heard_of(client: Client) -> None:
    a_replica(100)
    answer = client.get(ADDRESS)
    assert answer.status_code == 503
    assert answer.json()["problems"] == [{"code": "no_replica"}]


def test_head_is_answered_and_nothing_else(client: Client) -> None:
    a_replica()
    answer = client.head(ADDRESS)
    assert (answer.status_code, answer.content) == (200, b"")
    for method in (client.post, client.put, client.delete):
        assert method(ADDRESS).status_code == 405


# --- what it reveals ------------------------------------------------------------------------------


def a_job_with_a_next_run() -> None:
    CronJob.objects.create(
        job_id="nightly", task_name="shop.tasks.report", cron_expression="0 3 * * *"
    )


def everything_there_is() -> None:
    a_replica(5, "host-7:41")
    a_replica(500, "host-8:42")
    a_broken_job()
    a_job_with_a_next_run()
    Pause.objects.create(reason="payment provider is down", paused_by="ann")


SECRETS = ("host-7", "host-8", "payroll", "provider", "ann", __version__)


def test_without_a_token_it_reveals_nothing_but_codes_counts_and_ages(client: Client) -> None:
    everything_there_is()
    report = client.get(ADDRESS).json()
    text = json.dumps(report)
    assert [secret for secret in SECRETS if secret in text] == []
    assert report["warnings"] == [
        {"code": "replica_silent"},
        {"code": "jobs_broken"},
        {"code": "everything_paused"},
    ]
    assert report["broken"] == {"count": 1}
    assert sorted(report) == [
        "broken",
        "checked_at",
        "clock_skew_seconds",
        "counts_stop_at",
        "failing",
        "max_age_seconds",
        "overdue",
        "paused",
        "problems",
        "replicas",
        "status",
        "undelivered_runs",
        "waiting_runs",
        "warnings",
    ]


def test_whoever_has_the_token_is_told_everything(client: Client, dyncron: dict[str, Any]) -> None:
    dyncron["HEALTH_TOKEN"] = TOKEN
    everything_there_is()
    headers: Any = {"HTTP_AUTHORIZATION": f"bearer {TOKEN}".encode().decode("latin-1")}
    answer = client.get(ADDRESS, **headers)
    assert answer.status_code == 200
    text = answer.content.decode()
    assert [secret for secret in SECRETS if secret not in text] == []
    report = answer.json()
    assert report["broken"] == {"count": 1, "job_ids": ["payroll"]}
    assert report["paused"]["reason"] == "payment provider is down"
    assert [each["replica_id"] for each in report["replicas"]["list"]] == ["host-7:41", "host-8:42"]
    assert report["checked_at"].endswith("Z")


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer s3cret", "Basic s3cret-ü", "s3cret-ü", "Bearer s3cret-ü x"],
)
def test_whoever_lacks_the_token_is_told_nothing(
    client: Client, dyncron: dict[str, Any], header: str
) -> None:
    dyncron["HEALTH_TOKEN"] = TOKEN
    everything_there_is()
    headers: Any = {"HTTP_AUTHORIZATION": header.encode().decode("latin-1")}
    answer = client.get(f"{ADDRESS}?token={TOKEN}&max_age=1", **headers)
    assert (answer.status_code, answer.json()) == (401, {"status": "unauthorized"})
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_blank_after_the_token_in_the_settings_locks_nobody_out(
    client: Client, dyncron: dict[str, Any]
) -> None:
    dyncron["HEALTH_TOKEN"] = "s3cret "
    a_replica()
    headers: Any = {"HTTP_AUTHORIZATION": "Bearer s3cret"}
    assert client.get(ADDRESS, **headers).status_code == 200
    assert client.get(ADDRESS).status_code == 401


@pytest.mark.parametrize("wrong", [{"HEALTH_TOKEN": ""}, {"DATABASE": "defualt"}])
def test_a_wrong_setting_is_no_open_door(
    client: Client, dyncron: dict[str, Any], wrong: dict[str, Any]
) -> None:
    dyncron |= wrong
    a_replica()
    answer = client.get(ADDRESS)
    assert answer.status_code == 503
    assert answer.json()["problems"] == [{"code": "misconfigured"}]


# --- max_age --------------------------------------------------------------------------------------


def test_max_age_is_heeded(client: Client) -> None:
    a_replica(50)
    assert client.get(f"{ADDRESS}?max_age=70").status_code == 200
    answer = client.get(f"{ADDRESS}?max_age=40.5")
    assert answer.status_code == 503
    assert answer.json()["max_age_seconds"] == 40.5


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "-1", "19.9", "1e99", "60s"])
def test_a_max_age_that_makes_no_sense_is_a_bad_request(client: Client, text: str) -> None:
    answer = client.get(ADDRESS, {"max_age": text})
    assert answer.status_code == 400
    assert answer.json() == {
        "status": "bad request",
        "error": "max_age must be seconds from 20 to 31622400",
    }


# --- whatever happens -----------------------------------------------------------------------------


def test_a_bug_is_a_503_and_logged(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(*arguments: Any) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(views, "read_health_in_time", stumble)
    answer = client.get(ADDRESS)
    assert answer.status_code == 503
    assert answer.json()["problems"] == [{"code": "check_failed"}]
    assert getattr(caplog.records[0], "action", "") == "health_check_failed"


def test_it_asks_nobody_to_log_in(client: Client, settings: Any) -> None:
    login_required = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, login_required]
    a_replica()
    assert client.get(ADDRESS).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_it_answers_under_asgi() -> None:
    a_replica()
    answer = asyncio.run(AsyncClient().get(ADDRESS))
    assert answer.status_code == 200


@pytest.mark.django_db(transaction=True)
def test_it_leaves_no_connection_behind(client: Client) -> None:
    a_replica()
    connection.close()
    assert client.get(ADDRESS).status_code == 200
    assert connection.connection is None


LEAN_PROJECT = """
import sys

from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="tests.django.health_urls",
    SECRET_KEY="lean",
    INSTALLED_APPS=["django_dyncron"],
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "127.0.0.1",
        "PORT": "9",
        "NAME": "nothing",
        "ATOMIC_REQUESTS": True,
    }},
)
import django
django.setup()
from django.test import Client

answer = Client(raise_request_exception=False).get("/cron/health/")
print(answer.status_code, answer.content.decode())
assert "django.contrib.admin" not in sys.modules
"""


def test_it_needs_no_other_app_and_survives_atomic_requests_without_a_database(
    tmp_path: Path,
) -> None:
    root = Path(__file__).resolve().parent.parent.parent
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEAN_PROJECT],
        check=False,
        env=os.environ | {"PYTHONPATH": str(root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.stdout == (
        '503 {"status": "unhealthy", "problems": [{"code": "database_away"}], "warnings": []}\n'
    ), ended.stderr
