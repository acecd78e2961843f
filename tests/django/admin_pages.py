"""What the tests of the admin share: people with permissions, jobs in every state, form data."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django import VERSION
from django.contrib.auth.models import Permission, User
from django.db.models import DateTimeField, Value
from django.test import Client
from django.utils import timezone

from django_dyncron import ITaskEnqueuer, background_task
from django_dyncron.models import CronJob, CronRun

JOBS = "/admin/django_dyncron/cronjob/"
RUNS = "/admin/django_dyncron/cronrun/"
REPLICAS = "/admin/django_dyncron/replica/"
ADD = f"{JOBS}add/"


@background_task
def send_newsletter(user_id: int, subject: str = "News") -> None:
    """Stand in for a task of a project."""


@background_task
def no_arguments() -> None:
    """Stand in for a task that takes nothing."""


class RaisingEnqueuer(ITaskEnqueuer):
    """An enqueuer with a bug in its check."""

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        """Do nothing."""

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        raise RuntimeError("boom")


TASK = f"{__name__}.send_newsletter"


def at(text: str) -> datetime:
    """Read ``2026-11-30T12:57Z``."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)


def change(job: CronJob) -> str:
    """Return the address of the form of ``job``."""
    return f"{JOBS}{job.pk}/change/"


def text_of(answer: Any) -> str:
    """Return a page that was found, with a blank for any white space."""
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def the_database_keeps_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the database's clock by this process's, which ``time_machine`` can stop."""
    monkeypatch.setattr(
        "django_dyncron.health.reading.Now", lambda: Value(timezone.now(), DateTimeField())
    )


def client_with(*permissions: str, name: str = "staff") -> Client:
    """Log in a staff member who has just these permissions."""
    user = User.objects.create_user(name, is_staff=True)
    found = Permission.objects.filter(
        content_type__app_label="django_dyncron", codename__in=permissions
    )
    assert len(found) == len(permissions)
    user.user_permissions.set(found)
    client = Client()
    client.force_login(user)
    return client


def a_job(job_id: str = "newsletter", **values: Any) -> CronJob:
    """Insert a job that is fine, but for what ``values`` say."""
    fine = {"task_name": TASK, "cron_expression": "30 6 * * *", "payload": {"user_id": 7}}
    created = CronJob.objects.create(job_id=job_id, **(fine | values))
    job: CronJob = CronJob.objects.get(pk=created.pk)
    return job


def a_run(job_id: str, slot: str | None, status: str, **values: Any) -> CronRun:
    """Insert a run of a job; without a ``slot`` it is one by hand."""
    moment = at(slot) if slot else None
    run: CronRun = CronRun.objects.create(
        id=uuid4(), job_id=job_id, scheduled_for=moment, status=status, task_name=TASK, **values
    )
    return run


def crumbs(answer: Any) -> list[Any]:
    """Return the breadcrumbs of a page: address and words, of the last one the words alone."""
    found = re.search(
        r'<(div|ol) class="breadcrumbs">(.*?)</\1>', answer.content.decode(), re.DOTALL
    )
    assert found
    # Text and links before Django 6.1, then a list.
    assert found[1] == ("ol" if VERSION >= (6, 1) else "div")
    words = re.sub(r"<[^>]+>", " ", found[2].split("</a>")[-1]).replace("&rsaquo;", "")
    return [*re.findall(r'<a href="([^"]*)">([^<]*)</a>', found[2]), words.strip()]


def form_data(**values: Any) -> dict[str, Any]:
    """Return what a browser posts for a job that is fine, but for ``values``."""
    return {
        "job_id": "newsletter",
        "description": "",
        "is_active": "on",
        "task_name": TASK,
        "payload": '{"user_id": 7}',
        "queue": "default",
        "cron_expression": "30 6 * * *",
        "time_zone": "",
        "starts_at_0": "",
        "starts_at_1": "",
        "ends_at_0": "",
        "ends_at_1": "",
        "misfire_policy": "fire_once",
        "max_catch_up": "100",
        "catch_up_window_seconds": "",
        "overlap_policy": "allow",
        "max_run_seconds": "86400",
        "jitter_seconds": "0",
        "dst_gap": "run_after",
        "dst_fold": "first",
        "delivery": "at_least_once",
        "enqueuer": "",
        "options": "{}",
    } | values
