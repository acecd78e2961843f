"""Carrying an import out: in one transaction, so all of it or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import DatabaseError, IntegrityError, connections, transaction
from django.db.models import QuerySet

from ..core.text import one_line
from ..models import CronJob
from .entries import Source, SourceError
from .plan import Action, Choices, ImportPlan, job_ids, make_plan, tell_runs, unmatched

_AT_ONCE = 500


def carry_out(
    source: Source, choices: Choices, now: datetime, using: str, *, dry_run: bool = False
) -> ImportPlan:
    """Plan the import of ``source`` into the database ``using`` and, unless refused, write it.

    The plan is made in the transaction that writes it. Raises :class:`SourceError` if somebody else
    made one of the jobs meanwhile, the database gave up, or a pattern names nothing; nothing is
    written then.
    """
    if missed := unmatched(source, choices):
        # What cannot be read may be what was meant.
        unreadable = f" Not readable: {source.faults[0]}" if source.faults else ""
        raise SourceError(
            f"Nothing was imported: no name is like {missed[0]!r}, for --only.{unreadable}"
        )
    rows = CronJob.objects.using(using)
    try:
        with transaction.atomic(using=using):
            if not dry_run and not connections[using].features.has_select_for_update:
                # A transaction that reads first could not wait for those that write.
                rows.filter(pk=0).update(pause_reason="")
            readable = rows if dry_run else rows.select_for_update()
            existing = _existing(readable.order_by("pk"), sorted(job_ids(source, choices)))
            plan = make_plan(source, existing, choices, now)
            if not dry_run and not plan.is_refused:
                _write(plan, using)
    except IntegrityError as error:
        raise SourceError(
            "Somebody made one of these jobs at the same moment; nothing was imported. Do it again."
        ) from error
    except DatabaseError as error:
        raise SourceError(f"Nothing was imported: {one_line(error, with_type=True)}") from error
    # Not before the transaction has ended, which schedulers may be waiting for.
    tell_runs(plan)
    return plan


def _existing(rows: QuerySet[CronJob], names: Sequence[str]) -> dict[str, CronJob]:
    found: dict[str, CronJob] = {}
    for start in range(0, len(names), _AT_ONCE):
        some = rows.filter(job_id__in=names[start : start + _AT_ONCE])
        found |= {job.job_id: job for job in some}
    return found


def _write(plan: ImportPlan, using: str) -> None:
    for planned in plan.having(Action.CREATE):
        planned.job.save(using=using, force_insert=True)
    for planned in plan.having(Action.UPDATE):
        # A schedule that it changes counts from now.
        planned.job.save(using=using, update_fields=[*planned.changed, "declaration"])
