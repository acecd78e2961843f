"""The sample jobs in the table."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from django_dyncron.conf import database_alias, get_settings
from django_dyncron.models import CronJob
from django_dyncron.registry import declared_jobs
from django_dyncron.syncing import Choices, default_source, sync_jobs

_DUE_AT_ONCE = "report-runs"


def sync_sample_jobs() -> list[str]:
    """Sync the declared jobs as ``dyncron_sync`` does; return their ids."""
    jobs = declared_jobs()
    sync_jobs(jobs, Choices(default_source()), using=database_alias(get_settings()))
    return [declared.job_id for declared in jobs]


def make_one_due() -> None:
    """Have the report job's schedule counted from one period ago: its latest slot is due now.

    That slot runs unless it has run already.
    """
    a_period_ago = timezone.now() - timedelta(minutes=5)
    CronJob.objects.filter(job_id=_DUE_AT_ONCE).update(plan_from=a_period_ago)
