"""The cron jobs in the pictures, with a history that has some life in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from django.core.management import call_command
from django.utils import timezone

from django_dyncron import __version__
from django_dyncron.core.schedule import CronSchedule
from django_dyncron.core.tzdata import tzdata_version
from django_dyncron.models import CronJob, CronRun, Replica

_BARS = 30
_LONGEST_HISTORY = timedelta(days=60)
_REPLICAS = ("web-1", "web-2")
_BROKEN = "legacy-export"

_JOBS: list[dict[str, Any]] = [
    {
        "job_id": "open-orders",
        "task_name": "shop.tasks.report_open_orders",
        "payload": {"limit": 20},
        "cron_expression": "30 7 * * mon-fri",
        "time_zone": "Europe/Berlin",
        "description": "What the managers read over breakfast.",
    },
    {
        "job_id": "sync-stock",
        "task_name": "shop.tasks.sync_stock",
        "payload": {"warehouse": "north"},
        "cron_expression": "*/5 6-22 * * *",
        "queue": "imports",
    },
    {
        "job_id": "reminders",
        "task_name": "shop.tasks.send_reminders",
        "cron_expression": "*/20 8-17 * * mon-fri",
        "time_zone": "Europe/Berlin",
        "queue": "mail",
    },
    {
        "job_id": "weekly-digest",
        "task_name": "shop.tasks.send_digest",
        "payload": {"days": 7},
        "cron_expression": "0 9 * * mon",
        "time_zone": "America/New_York",
        "queue": "mail",
    },
    {
        "job_id": "prune-carts",
        "task_name": "shop.tasks.prune_carts",
        "cron_expression": "15 3 * * *",
        "time_zone": "Europe/Berlin",
    },
    {
        "job_id": "invoices",
        "task_name": "shop.tasks.send_invoices",
        "cron_expression": "0 6 L * *",
        "time_zone": "Europe/Berlin",
    },
    {
        "job_id": "exchange-rates",
        "task_name": "shop.tasks.fetch_exchange_rates",
        "cron_expression": "*/15 6-20 * * mon-fri",
        "queue": "imports",
        "is_active": False,
        "pause_reason": "The bank moves its API on Monday.",
    },
    {
        "job_id": _BROKEN,
        "task_name": "shop.tasks.prune_carts",
        "cron_expression": "0 25 * * *",
    },
]
_FAILURES = {
    "sync-stock": {6: "TimeoutError: the warehouse did not answer", 19: "TimeoutError: timed out"},
    "prune-carts": {29: "OperationalError: deadlock detected"},
    "exchange-rates": {24: "HTTPError: 503", 25: "HTTPError: 503", 28: "HTTPError: 410 Gone"},
}
_SKIPPED = {"sync-stock": {11, 12}, "open-orders": {17}}


def insert() -> None:
    """Fill the tables and let a scheduler tick once, which plans the jobs and finds the bad one."""
    for values in _JOBS:
        CronJob.objects.create(**values)
    call_command("run_dyncron", "--once", "--replica-id", _REPLICAS[0], verbosity=0)
    now = timezone.now()
    for job in CronJob.objects.exclude(job_id=_BROKEN):
        runs = list(_history(job, now))
        CronRun.objects.bulk_create(runs)
        latest = runs[-1]
        CronJob.objects.filter(pk=job.pk).update(
            last_run_at=latest.enqueued_at, last_error=latest.error
        )
    Replica.objects.all().delete()
    for number, name in enumerate(_REPLICAS):
        Replica.objects.create(
            replica_id=name,
            started_at=now - timedelta(days=3, hours=number),
            seen_at=now - timedelta(seconds=4 + 9 * number),
            tick_interval_seconds=30,
            version=__version__,
            tzdata_version=tzdata_version(),
        )


def _history(job: CronJob, now: datetime) -> Iterator[CronRun]:
    random = Random(job.job_id)
    schedule = CronSchedule.parse(job.cron_expression, job.time_zone or "UTC")
    slots = [*schedule.between(now - _LONGEST_HISTORY, now)][-_BARS:]
    for number, slot in enumerate(slots, start=_BARS - len(slots)):
        yield _run(job, slot, number, random)


def _run(job: CronJob, slot: datetime, number: int, random: Random) -> CronRun:
    run = CronRun(
        id=UUID(int=random.getrandbits(128), version=4),
        job_id=job.job_id,
        task_name=job.task_name,
        payload=job.payload,
        queue=job.queue,
        scheduled_for=slot,
        created_at=slot + timedelta(milliseconds=random.randint(20, 900)),
    )
    if number in _SKIPPED.get(job.job_id, ()):
        run.status, run.reason = "skipped", "overlap"
        return run
    run.error = _FAILURES.get(job.job_id, {}).get(number, "")
    run.status = "failed" if run.error else "succeeded"
    run.replica = random.choice(_REPLICAS)
    run.attempts = 1
    run.enqueued_at = run.started_at = run.created_at + timedelta(milliseconds=40)
    run.finished_at = run.started_at + timedelta(seconds=random.uniform(0.5, 40))
    run.task_id = str(run.id)
    return run
