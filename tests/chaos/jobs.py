"""Cron jobs for simulations, dealt out over every kind of queue."""

from __future__ import annotations

from typing import Any

from django_dyncron.core.definitions import CronJobDefinition

QUEUES = (
    {"enqueuer": "inside"},
    {"enqueuer": "remembering"},
    {"delivery": "at_least_once"},
    {"delivery": "at_most_once"},
)
"""In the store's database; elsewhere, refusing repeated ids; elsewhere, without memory (two)."""


def job(job_id: str, cron_expression: str = "* * * * *", **more: Any) -> CronJobDefinition:
    """Return a job that makes up every slot it missed."""
    values = {"misfire_policy": "fire_all", "max_catch_up": 1_000, **more}
    return CronJobDefinition(job_id, "shop.tasks.report", cron_expression, **values)


def jobs_on_every_queue(
    count: int, cron_expression: str = "* * * * *", **more: Any
) -> list[CronJobDefinition]:
    return [
        job(f"job-{number}", cron_expression, **QUEUES[number % len(QUEUES)], **more)
        for number in range(count)
    ]
