"""What a Celery worker tells of runs whose messages it drops."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from celery import Celery
from celery.worker import state
from celery.worker.request import Request

from django_dyncron.context import CurrentRun, current_run
from django_dyncron.core.definitions import Run
from django_dyncron.models import CronJob, CronRun
from django_dyncron.worker import Work
from tests.django.celery.sending import Make, a_run, enqueue, received

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run() -> Run:
    CronJob.objects.create(job_id="nightly", task_name="pack", cron_expression="0 6 * * *")
    run = a_run()
    CronRun.objects.create(
        pk=run.run_id, job_id="nightly", scheduled_for=run.scheduled_for, status="enqueued"
    )
    return run


@pytest.fixture(autouse=True)
def _revoked() -> Iterator[None]:
    yield
    state.revoked.clear()


def taken(make: Make, app: Celery, run: Run, **headers: Any) -> Request:
    """Send a run, and take its message as a worker does."""
    enqueue(make(), run)
    (message,) = received(app)
    message.headers.update(headers)
    return Request(message, app=app, on_ack=lambda *_: None, hostname="worker")


def expired(make: Make, app: Celery, run: Run, **headers: Any) -> bool:
    expires = datetime(2026, 11, 1, 5, 31, tzinfo=UTC).isoformat()
    return bool(taken(make, app, run, expires=expires, **headers).revoked())


def told(run: Run) -> tuple[str, str]:
    row = CronRun.objects.get(pk=run.run_id)
    return row.status, row.error


def test_a_run_that_expires_has_failed(make: Make, app: Celery, run: Run) -> None:
    assert expired(make, app, run)
    assert told(run) == ("failed", "The task expired.")


def test_a_second_delivery_that_expires_changes_nothing(make: Make, app: Celery, run: Run) -> None:
    with Work(CurrentRun.of(run)):
        pass

    assert expired(make, app, run)

    assert told(run) == ("succeeded", "")
    assert CronJob.objects.get().last_error == ""
    assert current_run() is None


def test_a_second_delivery_that_is_revoked_changes_nothing(
    make: Make, app: Celery, run: Run
) -> None:
    with Work(CurrentRun.of(run)):
        state.revoked.add(str(run.run_id))
        assert taken(make, app, run).revoked()
        assert told(run) == ("running", "")


def test_a_run_that_expires_between_two_attempts_has_failed(
    make: Make, app: Celery, run: Run
) -> None:
    attempt = Work(CurrentRun.of(run))
    attempt.begin()
    attempt.end_attempt("OSError: not yet")

    assert expired(make, app, run, retries=1)

    assert told(run) == ("failed", "The task expired.")


def test_a_run_that_is_terminated_has_failed(make: Make, app: Celery, run: Run) -> None:
    class Pool:
        def terminate_job(self, pid: int | None, signal: int) -> None: ...

    attempt = Work(CurrentRun.of(run))
    attempt.begin()
    attempt.leave()  # it goes on, in another process
    request = taken(make, app, run)
    request.time_start = 1.0

    request.terminate(Pool())

    assert told(run) == ("failed", "The task was terminated.")
