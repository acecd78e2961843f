"""Which cron jobs are meant on the command line: all, or those named if all of them are there."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError
from django.db.models import QuerySet

from ..core.text import printable, storable
from ..models import CronJob
from ..spelling import did_you_mean

_LOOKED_AT = 2_000
"""So many job ids are compared with a wrong one: of a million it would take a minute."""
_BEGINNING = 2


def add_choice(parser: ArgumentParser, everything: str) -> None:
    """Let some cron jobs be named, or all be meant, which ``everything`` explains."""
    parser.add_argument("job_ids", nargs="*", metavar="JOB_ID", help="A cron job.")
    parser.add_argument("--all", action="store_true", help=everything)


def means_all(options: dict[str, Any]) -> bool:
    """Tell whether all cron jobs are meant; raise :class:`CommandError` if that is unclear."""
    if options["all"] == bool(options["job_ids"]):
        raise CommandError("Name cron jobs, or give --all.")
    return bool(options["all"])


def jobs_named(job_ids: Sequence[str], using: str) -> QuerySet[CronJob]:
    """Return the rows of ``job_ids``; raise :class:`CommandError` for those that are not there."""
    jobs: QuerySet[CronJob] = CronJob.objects.using(using)
    # No job id holds half a character, as an argument does that is no UTF-8, and to ask would fail.
    named = jobs.filter(job_id__in=[name for name in job_ids if storable(name) == name])
    unknown = {*job_ids} - set(named.values_list("job_id", flat=True))
    if unknown:
        raise CommandError("\n".join(_complaint(name, jobs) for name in sorted(unknown)))
    return named


def _complaint(job_id: str, jobs: QuerySet[CronJob]) -> str:
    known = jobs.order_by("job_id").values_list("job_id", flat=True)
    alike = known.filter(job_id__istartswith=storable(job_id[:_BEGINNING]))[:_LOOKED_AT]
    hint = did_you_mean(job_id, alike) or did_you_mean(job_id, known[:_LOOKED_AT])
    return f'There is no cron job "{printable(job_id)}". {hint}'.rstrip()
