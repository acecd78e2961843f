"""What the list shows about a job beyond its row, read for a whole page at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from ..core.exceptions import InvalidCronExpression
from ..core.planning import PlanningRules, schedule_for
from ..core.policies import RunStatus
from ..describe import describe
from ..history import latest_runs, newest_runs
from ..models import CronJob, CronRun
from ..outlook import Outlook, is_overdue, outlook, planning_rules

_KEY = "_dyncron_view"


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it is shown at the instant ``now``.

    ``words`` say when it runs, if it can. ``runs`` are its newest ones, oldest first, and
    ``latest_run`` is the last one that was not skipped, even if it is older than these; there are
    none for those who may not see runs. ``is_alone`` tells a page of its own from a row.
    """

    now: datetime
    words: str
    outlook: Outlook
    is_overdue: bool
    runs: Sequence[CronRun]
    latest_run: CronRun | None
    is_alone: bool


def look_at(jobs: Iterable[CronJob], *, shows_runs: bool = False, is_alone: bool = False) -> None:
    """Work out the view of each of ``jobs``, in two queries however many a page has.

    It takes two more if of some all the newest runs were skipped, and none without runs.
    """
    jobs = list(jobs)
    runs = newest_runs(jobs) if shows_runs else {job.job_id: [] for job in jobs}
    latest = _not_skipped(jobs, runs)
    now, rules = timezone.now(), planning_rules()
    for job in jobs:
        vars(job)[_KEY] = JobView(
            now,
            _in_words(job, rules),
            outlook(job, now, rules),
            is_overdue(job, now, rules),
            runs[job.job_id],
            latest.get(job.job_id),
            is_alone,
        )


def view_of(job: CronJob) -> JobView:
    """Return what :func:`look_at` worked out, doing so now if nobody has yet."""
    if _KEY not in vars(job):
        look_at([job])
    view: JobView = vars(job)[_KEY]
    return view


def _not_skipped(
    jobs: Collection[CronJob], runs: Mapping[str, Sequence[CronRun]]
) -> dict[str, CronRun]:
    """Return the last run of each job that was not skipped, most of them from ``runs``."""
    found = {
        job_id: run
        for job_id, newest in runs.items()
        for run in newest
        if run.status != RunStatus.SKIPPED
    }
    further_back = [job for job in jobs if runs[job.job_id] and job.job_id not in found]
    return found | latest_runs(further_back)


def _in_words(job: CronJob, rules: PlanningRules) -> str:
    try:
        return describe(schedule_for(job.definition(), rules))
    except InvalidCronExpression:
        return ""
