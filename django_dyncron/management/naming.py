"""Cron jobs named on the command line: all of them are there, or nothing is done."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.management.base import CommandError
from django.db.models import QuerySet

from ..models import CronJob
from ..spelling import did_you_mean

_LOOKED_AT = 2_000
"""So many job ids are compared with a wrong one: of a million it would take a minute."""
_BEGINNING = 2


def jobs_named(job_ids: Sequence[str], using: str) -> QuerySet[CronJob]:
    """Return the rows of ``job_ids``; raise :class:`CommandError` for those that are not there."""
    jobs: QuerySet[CronJob] = CronJob.objects.using(using)
    named = jobs.filter(job_id__in=job_ids)
    unknown = {*job_ids} - set(named.values_list("job_id", flat=True))
    if unknown:
        raise CommandError("\n".join(_complaint(name, jobs) for name in sorted(unknown)))
    return named


def _complaint(job_id: str, jobs: QuerySet[CronJob]) -> str:
    known = jobs.order_by("job_id").values_list("job_id", flat=True)
    alike = known.filter(job_id__istartswith=job_id[:_BEGINNING])[:_LOOKED_AT]
    hint = did_you_mean(job_id, alike) or did_you_mean(job_id, known[:_LOOKED_AT])
    return f'There is no cron job "{job_id}". {hint}'.rstrip()
