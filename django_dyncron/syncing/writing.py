"""Carrying a sync out: in one transaction, so all of it or nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Sequence

from django.conf import ENVIRONMENT_VARIABLE
from django.db import IntegrityError, OperationalError, connections, transaction
from django.db.models import Q

from ..core.exceptions import DyncronError
from ..core.text import first_line, one_line
from ..models import CronJob, Origin
from ..registry import DeclaredJob
from ..registry.declarations import examine
from ..repositories.dialects import dialect_of
from ..repositories.reading import is_about_a_value
from ..spelling import did_you_mean
from .merging import FIELDS
from .plan import Choices, Declared, Step, in_order, make_plan
from .report import SyncReport

_ATTEMPTS = 5
_PAUSE_SECONDS = 0.2


class SyncRefused(DyncronError):
    """Nothing was synced; ``problems`` are all the reasons there are."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def default_source() -> str:
    """Return the name of this code base: the top package of its settings."""
    return os.environ.get(ENVIRONMENT_VARIABLE, "").partition(".")[0]


def sync_jobs(
    jobs: Iterable[DeclaredJob], choices: Choices, *, using: str, dry_run: bool = False
) -> SyncReport:
    """Make the rows of database ``using`` follow ``jobs``, in one transaction.

    With ``dry_run`` nothing is written and nothing locked, else only the rows that change.
    Safe to be done twice at once: the second waits for the first and finds its work done. Raises
    :class:`SyncRefused` if a declaration is wrong, a name among the ``choices`` is not declared, or
    the database does not let us, and then nothing has changed.
    """
    declared = _declared(jobs)
    _refuse_unknown_names(choices, {each.row.job_id for each in declared})
    if choices.prune and not declared:
        raise SyncRefused(
            "No job is declared, so pruning would pause all that ever were. Is the app of their "
            "tasks installed? To pause them use dyncron_pause."
        )
    if dry_run:
        return SyncReport.of(make_plan(declared, _read(declared, using), choices))
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return SyncReport.of(_sync(declared, choices, using))
        except (IntegrityError, OperationalError) as error:
            # Somebody else has created the row meanwhile, or has rows locked that we need.
            if attempt == _ATTEMPTS:
                raise SyncRefused(f"The database refused it: {first_line(error)}") from error
            time.sleep(_PAUSE_SECONDS * attempt)
    raise AssertionError("unreachable")


def _declared(jobs: Iterable[DeclaredJob]) -> list[Declared]:
    """Return clean rows in order of job id, the order in which any sync creates them."""
    examined = examine(jobs)
    problems = [
        f'{each.job.task_name}, cron job "{each.name}": {fault}'
        for each in sorted(examined, key=lambda each: each.name)
        for fault in each.faults
    ]
    if problems:
        raise SyncRefused(*problems)
    declared = [
        Declared(each.row, [name for name in FIELDS if name in each.job.values()])
        for each in examined
    ]
    return sorted(declared, key=lambda each: each.row.job_id)


def _refuse_unknown_names(choices: Choices, declared: Collection[str]) -> None:
    unknown = sorted({*choices.adopt, *choices.take_code} - {*declared})
    if unknown:
        raise SyncRefused(
            *(
                f'No cron job "{name}" is declared in code. {did_you_mean(name, declared)}'.rstrip()
                for name in unknown
            )
        )


def _sync(declared: Sequence[Declared], choices: Choices, using: str) -> list[Step]:
    """Look without locks first: schedulers pass over locked rows, and most deploys change none."""
    steps = make_plan(declared, _read(declared, using), choices)
    job_ids = {step.row.job_id for step in steps if step.writes}
    if not job_ids:
        return steps
    to_write = [each for each in declared if each.row.job_id in job_ids]
    with transaction.atomic(using=using):
        dialect_of(connections[using]).begin()
        now = make_plan(to_write, _read(to_write, using, lock=job_ids), choices)
        for step in now:
            _write(step, using)
    return in_order([step for step in steps if step.row.job_id not in job_ids] + now)


def _read(
    declared: Sequence[Declared], using: str, *, lock: Collection[str] | None = None
) -> list[CronJob]:
    """Return the rows that the code has made or asks for or, locked, those to ``lock``."""
    rows = CronJob.objects.using(using)
    if lock is None:
        job_ids = [each.row.job_id for each in declared]
        wanted = rows.filter(Q(job_id__in=job_ids) | Q(origin=Origin.CODE))
    else:
        # In one order, so that two syncs never wait for each other.
        wanted = rows.filter(job_id__in=lock).order_by("pk").select_for_update()
    try:
        return list(wanted)
    except Exception as error:
        if not is_about_a_value(error):
            raise
        problem = one_line(error, with_type=True)
        raise SyncRefused(f"A row of the table of cron jobs cannot be read: {problem}") from error


def _write(step: Step, using: str) -> None:
    """Write a row as an edit would: by ``save()``, which others may listen to."""
    if step.is_new:
        step.row.save(force_insert=True, using=using)
    elif step.values:
        for name, value in step.values.items():
            setattr(step.row, name, value)
        step.row.save(using=using, update_fields=step.values)
