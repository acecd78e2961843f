"""What an import will do, entry by entry: worked out before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from ..core.exceptions import InvalidCronExpression
from ..core.schedule import CronSchedule
from ..models import CronJob, Origin
from ..outlook import planning_rules
from ..stored_values import same
from .comparing import SHOWN, Comparison, compare
from .entries import Entry, LeftOut, Source

_SWITCH = ("is_active", "pause_reason")
_KEPT_ON_UPDATE = frozenset({*_SWITCH, "last_run_at"})
"""What an update leaves alone: whether a job is on is decided where it runs."""
_REMEMBERED = ("task_name", "payload", "cron_expression", "time_zone")


class Action(StrEnum):
    """What becomes of an entry."""

    CREATE = "create"
    UPDATE = "update"
    NOTHING = "nothing"
    """The job is there, and is the same."""
    KEEP = "keep"
    """The job is there, and is left as it is, although it differs."""
    REFUSE = "refuse"
    """It cannot be: see its faults."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user of an import decides.

    ``only`` are patterns of names as the source has them, ``prefix`` goes before every job id.
    """

    prefix: str = ""
    only: tuple[str, ...] = ()
    enqueuer: str = ""
    disabled: bool = False
    update: bool = False
    skip_existing: bool = False
    skip_invalid: bool = False


@dataclass(slots=True)
class PlannedJob:
    """One entry, the job that it makes, and what becomes of it.

    ``changed`` names the columns in which a job that is there differs. ``faults`` are messages by
    column.
    """

    entry: Entry
    job: CronJob
    action: Action
    changed: tuple[str, ...] = ()
    faults: dict[str, list[str]] = field(default_factory=dict)
    comparison: Comparison | None = None


@dataclass(slots=True)
class PlannedGap:
    """Something that is left out: when its source runs it, and when the nearest job would."""

    left_out: LeftOut
    before: tuple[datetime, ...] = ()
    instead: tuple[datetime, ...] = ()


@dataclass(slots=True)
class ImportPlan:
    """All that an import will do, as of ``now``."""

    source: Source
    choices: Choices
    now: datetime
    jobs: list[PlannedJob] = field(default_factory=list)
    gaps: list[PlannedGap] = field(default_factory=list)

    def having(self, action: Action) -> list[PlannedJob]:
        """Return the jobs that one thing becomes of."""
        return [job for job in self.jobs if job.action == action]

    @property
    def is_refused(self) -> bool:
        """Whether nothing will be imported: something cannot be, and that is not to be skipped.

        There must be something else to skip it for, even if that is there already.
        """
        refused = self.having(Action.REFUSE)
        if not refused and not self.source.faults:
            return False
        return not self.choices.skip_invalid or len(refused) == len(self.jobs)


def unmatched(source: Source, choices: Choices) -> list[str]:
    """Return those of the patterns that name nothing in a source, not even what is unreadable."""
    names = [each.name for each in source.entries] + [each.name for each in source.left_out]
    names += source.unread
    return [
        pattern for pattern in choices.only if not any(fnmatchcase(name, pattern) for name in names)
    ]


def job_ids(source: Source, choices: Choices) -> set[str]:
    """Return the ids of the jobs that an import is about."""
    return {_job_id(entry, choices) for entry in source.entries if _is_wanted(entry.name, choices)}


def make_plan(
    source: Source, existing: Mapping[str, CronJob], choices: Choices, now: datetime
) -> ImportPlan:
    """Work out what becomes of each entry; ``existing`` are the jobs there are, by their id."""
    plan = ImportPlan(source, choices, now)
    wanted = [entry for entry in source.entries if _is_wanted(entry.name, choices)]
    times = Counter(_job_id(entry, choices) for entry in wanted)
    for entry in wanted:
        job_id = _job_id(entry, choices)
        planned = _plan_entry(entry, existing.get(job_id), choices, source.title)
        if times[job_id] > 1:
            planned.action = Action.REFUSE
            planned.faults = {"job_id": [f"{times[job_id]} entries of the source have it."]}
        plan.jobs.append(planned)
    for left_out in source.left_out:
        if _is_wanted(left_out.name, choices):
            plan.gaps.append(PlannedGap(left_out))
    # First what looks as if it could be imported as it is, and would mean something else.
    plan.gaps.sort(key=lambda gap: not gap.left_out.instead)
    return plan


def tell_runs(plan: ImportPlan) -> None:
    """Work out when everything in a plan ran and will run, which takes longer than all the rest."""
    for planned in plan.jobs:
        planned.comparison = _compared(planned, plan.now)
    for gap in plan.gaps:
        _tell_gap(gap, plan.now)


def _is_wanted(name: str, choices: Choices) -> bool:
    return not choices.only or any(fnmatchcase(name, pattern) for pattern in choices.only)


def _job_id(entry: Entry, choices: Choices) -> str:
    return choices.prefix + str(entry.values.get("job_id", entry.name))


def _plan_entry(entry: Entry, existing: CronJob | None, choices: Choices, title: str) -> PlannedJob:
    values = {**entry.values, "job_id": _job_id(entry, choices)}
    if choices.enqueuer:
        values["enqueuer"] = choices.enqueuer
    if existing is None:
        if choices.disabled and values.get("is_active", True):
            values |= {
                "is_active": False,
                "pause_reason": f"Imported from {title}, not switched on.",
            }
        job = CronJob(**values, origin=Origin.IMPORT.value, declaration=_memory(values, title))
        return _checked(PlannedJob(entry, job, Action.CREATE))
    kept = _KEPT_ON_UPDATE
    if existing.origin == Origin.IMPORT and existing.cron_expression == values["cron_expression"]:
        kept |= entry.from_now
    compared = {name: value for name, value in values.items() if name not in kept}
    changed = tuple(
        name for name, value in compared.items() if not same(getattr(existing, name), value)
    )
    if not changed:
        return PlannedJob(entry, existing, Action.NOTHING)
    if choices.update:
        for name in changed:
            setattr(existing, name, compared[name])
        if existing.origin == Origin.IMPORT:
            existing.declaration = _memory(values, title)
        return _checked(PlannedJob(entry, existing, Action.UPDATE, changed))
    if choices.skip_existing or _says_what_it_said(existing, values, title):
        return PlannedJob(entry, existing, Action.KEEP, changed)
    taken = (
        "There is a job of this id that differs, and was not made by an import of just this: "
        "choose --prefix, --skip-existing or --update."
    )
    return PlannedJob(entry, existing, Action.REFUSE, changed, {"job_id": [taken]})


def _memory(values: Mapping[str, Any], title: str) -> dict[str, Any]:
    """Return what a job remembers of the entry that it was made of."""
    return {"source": title, "fields": {name: values.get(name, "") for name in _REMEMBERED}}


def _says_what_it_said(existing: CronJob, values: Mapping[str, Any], title: str) -> bool:
    """Tell whether a job was made of this same entry, so that only the job has been edited since.

    Two crontabs may well have a command of one name.
    """
    is_imported = existing.origin == Origin.IMPORT
    return is_imported and same(existing.declaration, _memory(values, title))


def _checked(planned: PlannedJob) -> PlannedJob:
    try:
        planned.job.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        planned.action = Action.REFUSE
        planned.faults = {
            "" if name == NON_FIELD_ERRORS else name: messages
            for name, messages in error.message_dict.items()
        }
    return planned


def _compared(planned: PlannedJob, now: datetime) -> Comparison | None:
    if planned.action == Action.REFUSE:
        return None
    try:
        return compare(planned.job.definition(), planned.entry.runs, now, planning_rules())
    except InvalidCronExpression:  # of a job that is there, and is left as it is
        return None


def _tell_gap(gap: PlannedGap, now: datetime) -> None:
    left_out = gap.left_out
    if left_out.runs:
        gap.before = tuple(islice(left_out.runs(now), SHOWN))
    if left_out.instead:
        schedule = CronSchedule.parse(left_out.instead, left_out.time_zone or "UTC")
        gap.instead = tuple(schedule.upcoming(now, SHOWN))
