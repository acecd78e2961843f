"""Whether cron jobs, in the table or declared in code, are such as their form would let through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Info, Tags, Warning, register  # noqa: A004
from django.core.exceptions import ValidationError
from django.db import Error, transaction
from django.db.models import QuerySet

from ..conf import ConfigurationError, get_settings, load_enqueuers, load_repository
from ..core.text import one_line
from ..job_checks import fault_words
from ..models import CronJob
from ..registry import declared_jobs
from ..registry.declarations import examine
from .configuration import TAG

MOST_READ = 10_000
"""A look at that many takes a few seconds, and ``migrate`` waits for it."""
MOST_TOLD = 20


@register(Tags.database)
def check_cron_jobs(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Warn of active cron jobs in the table that would fail: SQL and ``save()`` ask no form."""
    alias = _jobs_alias()
    if alias is None or alias not in (databases or ()):
        return []
    jobs = CronJob.objects.using(alias).filter(is_active=True)
    try:
        with transaction.atomic(using=alias):
            keys = list(jobs.order_by("job_id").values_list("pk", flat=True)[:MOST_READ])
            rows = list(_read(jobs, keys))
    except Error:
        # Before migrate there is no such table, or it lacks a column.
        return []
    wrong = [(job_id, fault) for job_id, row in rows if (fault := _fault(row))]
    messages = [f'The cron job "{job_id}" is wrong: {fault}' for job_id, fault in wrong[:MOST_TOLD]]
    if len(wrong) > MOST_TOLD:
        messages.append(f"{len(wrong) - MOST_TOLD} more cron jobs are wrong.")
    hint = "Mend it in the admin, or pause it."
    return [Warning(message, hint=hint, id="django_dyncron.W005") for message in messages]


@register(TAG)
def check_declared_jobs(**_: Any) -> list[CheckMessage]:
    """Warn of jobs declared in code that ``dyncron_sync`` would refuse."""
    if _jobs_alias() is None:
        return []
    return [
        Warning(
            f'The cron job "{each.name}" that {each.job.task_name} declares is wrong: '
            f"{_joined(each.faults)}.",
            hint="Mend its cron_job(): until then dyncron_sync refuses all declared jobs.",
            id="django_dyncron.W006",
        )
        for each in examine(declared_jobs())
        if each.faults
    ]


@register(Tags.database)
def check_unsynced_jobs(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Mention that jobs declared in code are not in the table, which nobody else would.

    Wrong ones are told of already, and no database need know what to do with their job ids.
    """
    alias = _jobs_alias()
    if alias is None or alias not in (databases or ()):
        return []
    declared = {each.row.job_id for each in examine(declared_jobs()) if not each.faults}
    if not declared:
        return []
    found = CronJob.objects.using(alias).filter(job_id__in=declared)
    try:
        with transaction.atomic(using=alias):
            missing = sorted(declared - set(found.values_list("job_id", flat=True)))
    except Error:
        # Before migrate there is no such table, or it lacks a column.
        return []
    if not missing:
        return []
    who = f'The cron job "{missing[0]}" is'
    if len(missing) > 1:
        who = f'{len(missing)} cron jobs, the first of them "{missing[0]}", are'
    return [
        Info(
            f"{who} declared in code and not in the table.",
            hint="Run manage.py dyncron_sync in each deploy, after migrate.",
            id="django_dyncron.I001",
        )
    ]


def _jobs_alias() -> str | None:
    """Return where the scheduler finds its jobs; ``None`` if elsewhere, or if nobody can know.

    With wrong settings every job would be wrong; other checks tell of those.
    """
    from ..repositories.orm import DjangoCronJobRepository

    try:
        settings = get_settings()
        load_enqueuers(settings)
        repository = load_repository(settings)
    except ConfigurationError:
        return None
    return repository.using if isinstance(repository, DjangoCronJobRepository) else None


def _read(
    jobs: QuerySet[CronJob], keys: Sequence[int]
) -> Iterator[tuple[str, CronJob | Exception]]:
    """Yield the id of each job, and the job or why its row cannot be read.

    Such a row is found by halves: it must not hide the others.
    """
    from ..repositories.reading import PLANNING_FIELDS, is_about_a_value

    try:
        read = jobs.filter(pk__in=keys).order_by("job_id")
        rows = list(read.values(*PLANNING_FIELDS, "ping_url"))
    except Exception as error:
        if not is_about_a_value(error):
            raise
        if len(keys) == 1:
            yield f"#{keys[0]}", error
            return
        half = len(keys) // 2
        yield from _read(jobs, keys[:half])
        yield from _read(jobs, keys[half:])
        return
    for row in rows:
        yield row["job_id"], CronJob(**row)


def _joined(faults: Iterable[str]) -> str:
    return "; ".join(fault.rstrip(".") for fault in faults)


def _fault(job: CronJob | Exception) -> str:
    """Return in words what is wrong, or nothing."""
    if isinstance(job, Exception):
        return f"its row cannot be read: {one_line(job)}"
    try:
        job.clean_fields()
    except ValidationError as error:
        return _joined(fault_words(error))
    except Exception as error:  # whatever SQL has put there
        return one_line(error, with_type=True)
    return ""
