"""Reaching cron jobs: by natural key, and by updates that count from their moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

from .due import SCHEDULE_FIELDS, plan_from_after

if TYPE_CHECKING:
    from .jobs import CronJob


class CronJobQuerySet(models.QuerySet["CronJob"]):
    """Cron jobs; changing a schedule through it counts from that moment."""

    def update(self, **values: Any) -> int:
        """Update rows as ever; a schedule changed by it counts from this moment."""
        if "plan_from" not in values and any(name in values for name in SCHEDULE_FIELDS):
            # First, because MySQL evaluates assignments from left to right.
            values = {"plan_from": plan_from_after(values), **values}
        return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined]


class CronJobManager(models.Manager.from_queryset(CronJobQuerySet)):  # type: ignore[misc]
    """Finds cron jobs by their natural key, the job id."""

    def get_by_natural_key(self, job_id: str) -> CronJob:
        job: CronJob = self.get(job_id=job_id)
        return job
