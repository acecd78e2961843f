"""Reaching cron jobs: by natural key, and by updates that count from their moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import models, transaction

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

    def update_or_create(
        self,
        defaults: Mapping[str, Any] | None = None,
        create_defaults: Mapping[str, Any] | None = None,
        **lookups: Any,
    ) -> tuple[CronJob, bool]:
        """Update the row or create it as ever, writing nothing but ``defaults``.

        Django's own writes all moments of the row besides, the scheduler's as it has read them.
        """
        rows = self.select_for_update()
        to_create = defaults if create_defaults is None else create_defaults
        with transaction.atomic(using=rows.db):
            job, is_new = rows.get_or_create(to_create, **lookups)
            if not is_new:
                for name, value in (defaults or {}).items():
                    setattr(job, name, value() if callable(value) else value)
                job.save(using=rows.db, update_fields=defaults or ())
        return job, is_new

    update_or_create.alters_data = True  # type: ignore[attr-defined]


class CronJobManager(models.Manager.from_queryset(CronJobQuerySet)):  # type: ignore[misc]
    """Finds cron jobs by their natural key, the job id."""

    def get_by_natural_key(self, job_id: str) -> CronJob:
        job: CronJob = self.get(job_id=job_id)
        return job
