"""Periodic tasks that stay with Celery: their arguments, options and queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, Task
from django.db import connection

from django_dyncron.models import CronJob
from tests.django.importers.conftest import Import
from tests.importing.loading import load_tables

pytestmark = pytest.mark.django_db

SOURCE = "django-celery-beat"


@pytest.fixture(autouse=True)
def app(settings: Any, monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[Celery]:
    app = Celery("shop", broker="memory://", set_as_current=False)
    app.conf.task_queues = {"celery": {}, "slow": {}}

    @app.task(name="restock", shared=False, bind=True, autoretry_for=(OSError,))
    def restock(self: Task, count: int = 1) -> None: ...

    monkeypatch.setattr("celery.app.app_or_default", lambda: app)
    monkeypatch.setattr("django_dyncron.enqueuers.celery.app_or_default", lambda: app)
    settings.DYNCRON = {"ENQUEUER": "celery"}
    load_tables("django_celery_beat")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_celery_beat_periodictask SET task = 'restock' WHERE task LIKE 'tests.%%'"
        )
    yield app
    app.close()


def test_all_of_them(run_import: Import) -> None:
    report = run_import(SOURCE)
    assert not report["error"], [job["faults"] for job in report["jobs"] if job["faults"]]
    assert CronJob.objects.count() == 50
    jobs = {job.job_id: job for job in CronJob.objects.all()}
    assert jobs["arguments by place"].payload == {"count": 5}
    assert jobs["arguments by place"].options == {"headers": {"tenant": "north"}}
    assert jobs["arguments by name"].options == {"priority": 7}
    assert jobs["arguments by name"].queue == "slow"
    assert jobs["expires after a while"].options == {"expires": 300, "routing_key": "reports"}


def test_what_celery_here_does_not_have(run_import: Import, app: Celery) -> None:
    app.conf.update(task_queues={"celery": {}}, task_create_missing_queues=False)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_celery_beat_periodictask SET task = 'audit' WHERE name = 'every minute'"
        )
    report = run_import(SOURCE)
    faults = {job["name"]: list(job["faults"]) for job in report["jobs"] if job["faults"]}
    assert faults == {"every minute": ["task_name"], "arguments by name": ["queue"]}
    assert not CronJob.objects.exists()


def test_a_task_without_a_queue_stays_where_celery_routes_it(
    run_import: Import, app: Celery
) -> None:
    """A job of the queue "default" is sent to that queue, if there is one, past all routes."""
    app.conf.update(
        task_queues={"default": {}, "slow": {}, "reports": {}},
        task_default_queue="default",
        task_routes={"audit": {"queue": "reports"}, "restock": {"queue": "slow"}},
    )

    @app.task(name="audit", shared=False)
    def audit() -> None: ...

    @app.task(name="pack", shared=False)
    def pack() -> None: ...

    pack.queue = "slow"
    with connection.cursor() as cursor:
        for task, name in (("audit", "every minute"), ("pack", "lists"), ("tidy", "working days")):
            cursor.execute(
                "UPDATE django_celery_beat_periodictask SET task = %s WHERE name = %s", [task, name]
            )
    names = ["every minute", "every hour, Berlin", "lists", "working days"]
    told = run_import(SOURCE, only=names, skip_invalid=True)
    assert [job["job_id"] for job in told["jobs"] if job["faults"]] == ["working days"]
    assert dict(CronJob.objects.values_list("job_id", "queue")) == {
        "every minute": "reports",
        "every hour, Berlin": "slow",
        "lists": "slow",
    }
