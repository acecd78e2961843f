"""An import in words: what becomes of each entry, when it ran and will run, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from ..core.text import iso_utc, printable
from .comparing import SHOWN, Difference
from .plan import Action, ImportPlan, PlannedGap, PlannedJob

_COUNTED = {
    Action.CREATE: "new",
    Action.UPDATE: "updated",
    Action.NOTHING: "already there",
    Action.KEEP: "there and different, left as they are",
    Action.REFUSE: "refused",
}
_IS = {
    Action.CREATE: "new",
    Action.UPDATE: "update",
    Action.NOTHING: "there",
    Action.KEEP: "kept",
    Action.REFUSE: "REFUSED",
}


def in_words(plan: ImportPlan, *, dry_run: bool) -> Iterator[str]:
    """Yield the lines of the report."""
    for line in _lines(plan, dry_run=dry_run):
        yield printable(line)


def _lines(plan: ImportPlan, *, dry_run: bool) -> Iterator[str]:
    yield from plan.source.notes
    misleading = [gap for gap in plan.gaps if gap.left_out.instead]
    for gap in misleading:
        yield from _gap_in_words(gap)
    for job in plan.jobs:
        yield from _job_in_words(job)
    for gap in plan.gaps[len(misleading) :]:
        yield from _gap_in_words(gap)
    for fault in plan.source.faults:
        yield f"REFUSED  {fault}"
    yield ""
    if _has_clock_changes(plan):
        yield plan.source.clock_changes
    yield _summary(plan, dry_run=dry_run)


def _job_in_words(planned: PlannedJob) -> Iterator[str]:
    job, comparison = planned.job, planned.comparison
    zone = f" ({job.time_zone})" if job.time_zone else ""
    paused = "" if job.is_active else ", paused"
    yield f"{_IS[planned.action]:<9}{job.job_id}: {job.cron_expression}{zone}{paused}"
    if planned.action == Action.NOTHING:
        return
    if comparison:
        if comparison.before == comparison.after:
            yield f"         before and after: {_times(comparison.after)}"
        else:
            if comparison.before is not None:
                yield f"         before: {_times(comparison.before)}"
            yield f"         after:  {_times(comparison.after)}"
        yield from (f"         ! {_difference(each)}" for each in comparison.differences)
    if planned.changed:
        yield f"         differs in {', '.join(planned.changed)}"
    yield from (f"         ! {note}" for note in planned.entry.notes)
    for name, messages in planned.faults.items():
        yield from (f"         {name + ': ' if name else ''}{message}" for message in messages)


def _gap_in_words(gap: PlannedGap) -> Iterator[str]:
    yield f"LEFT OUT {gap.left_out.name}"
    yield f"         {gap.left_out.reason}"
    if gap.before:
        yield f"         before: {_times(gap.before)}"
    if gap.left_out.instead:
        yield f"         '{gap.left_out.instead}' would run: {_times(gap.instead)}"


def _summary(plan: ImportPlan, *, dry_run: bool) -> str:
    counts = [
        f"{len(jobs)} {words}"
        for action, words in _COUNTED.items()
        if (jobs := plan.having(action))
    ]
    if plan.gaps:
        counts.append(f"{len(plan.gaps)} left out")
    if plan.source.faults:
        counts.append(f"{len(plan.source.faults)} not readable")
    told = f"{plan.source.title}: {', '.join(counts) or 'nothing found'}."
    if plan.is_refused:
        return f"{told} Nothing is imported."
    return f"{told} A dry run: nothing was written." if dry_run else told


def _difference(difference: Difference) -> str:
    when = f"Clocks change on {difference.date}" if difference.date else "The runs are not the same"
    if not difference.before:
        return f"{when}: here it also runs {_times(difference.after)}"
    if not difference.after:
        return f"{when}: here it does not run {_times(difference.before)}"
    return f"{when}: before {_times(difference.before)}; here {_times(difference.after)}"


def _has_clock_changes(plan: ImportPlan) -> bool:
    return any(
        difference.date
        for job in plan.jobs
        if job.comparison
        for difference in job.comparison.differences
    )


def _times(moments: Sequence[datetime]) -> str:
    told = "  ".join(map(_time, moments[:SHOWN])) or "never"
    return told if len(moments) <= SHOWN else f"{told} and {len(moments) - SHOWN} more"


def _time(moment: datetime) -> str:
    return iso_utc(moment, "auto" if moment.second or moment.microsecond else "minutes")


def as_json(plan: ImportPlan, *, dry_run: bool) -> dict[str, Any]:
    """Return the report for programs. What a payload holds is not in it."""
    return {
        "source": plan.source.title,
        "now": plan.now.isoformat(),
        "written": not (dry_run or plan.is_refused),
        "notes": plan.source.notes,
        "clock_changes": plan.source.clock_changes if _has_clock_changes(plan) else "",
        "faults": plan.source.faults,
        "jobs": [_job_as_json(job) for job in plan.jobs],
        "left_out": [
            {
                "name": gap.left_out.name,
                "place": gap.left_out.place,
                "reason": gap.left_out.reason,
                "before": _list(gap.before),
                "nearest": gap.left_out.instead,
                "nearest_runs": _list(gap.instead),
            }
            for gap in plan.gaps
        ],
    }


def _job_as_json(planned: PlannedJob) -> dict[str, Any]:
    job, comparison = planned.job, planned.comparison
    return {
        "job_id": job.job_id,
        "name": planned.entry.name,
        "place": planned.entry.place,
        "action": planned.action.value,
        "cron_expression": job.cron_expression,
        "time_zone": job.time_zone,
        "is_active": job.is_active,
        "before": _list(comparison.before if comparison else None),
        "after": _list(comparison.after if comparison else None),
        "differences": [
            {"date": each.date, "before": _list(each.before), "after": _list(each.after)}
            for each in (comparison.differences if comparison else ())
        ],
        "notes": list(planned.entry.notes),
        "changed": list(planned.changed),
        "faults": planned.faults,
    }


def _list(moments: Iterable[datetime] | None) -> list[str] | None:
    return None if moments is None else [_time(moment) for moment in moments]
