"""The sample jobs in the table."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from django_dyncron.models import CronJob
from django_dyncron.registry import declared_jobs

_DUE_AT_ONCE = "report-runs"


def create_sample_jobs() -> list[str]:
    """Create the declared jobs that are missing, edit none; return the ids of all."""
    for declared in declared_jobs():
        values = declared.values()
        CronJob.objects.get_or_create(job_id=values.pop("job_id"), defaults=values)
    return [declared.job_id for declared in declared_jobs()]


def make_one_due() -> None:
    """Have the report job's schedule counted from one period ago: its latest slot is due now.

    That slot runs unless it has run already.
    """
    a_period_ago = timezone.now() - timedelta(minutes=5)
    CronJob.objects.filter(job_id=_DUE_AT_ONCE).update(plan_from=a_period_ago)
