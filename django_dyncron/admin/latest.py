"""What the list shows about a job beyond its row, read for a whole page at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from ..core.exceptions import InvalidCronExpression
from ..core.planning import PlanningRules, schedule_for
from ..core.policies import RunStatus
from ..describe import describe
from ..models import CronJob, CronRun
from ..outlook import Outlook, outlook, planning_rules

_KEY = "_dyncron_view"


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it is shown at the instant ``now``; ``words`` say when it runs, if it can."""

    now: datetime
    words: str
    outlook: Outlook
    latest_run: CronRun | None


def look_at(jobs: Iterable[CronJob]) -> None:
    """Work out the view of each of ``jobs``, in two queries however many they are."""
    jobs = list(jobs)
    runs = _latest_runs(jobs)
    now, rules = timezone.now(), planning_rules()
    for job in jobs:
        vars(job)[_KEY] = JobView(
            now, _in_words(job, rules), outlook(job, now, rules), runs.get(job.job_id)
        )


def view_of(job: CronJob) -> JobView:
    """Return what :func:`look_at` worked out, doing so now if nobody has yet."""
    if _KEY not in vars(job):
        look_at([job])
    view: JobView = vars(job)[_KEY]
    return view


def _latest_runs(jobs: list[CronJob]) -> dict[str, CronRun]:
    """Return the newest run of each job, skipped slots aside.

    Looked up per job along the index of (job, slot): reading a month of minutely runs to find the
    last one would be slow. Manual runs have no slot and are few.
    """
    if not jobs:
        return {}
    alias = jobs[0]._state.db
    runs = CronRun.objects.using(alias).filter(job_id=OuterRef("job_id"))
    scheduled = runs.filter(scheduled_for__isnull=False).exclude(status=RunStatus.SKIPPED)
    manual = runs.filter(scheduled_for__isnull=True)
    found = (
        CronJob.objects.using(alias)
        .filter(pk__in=[job.pk for job in jobs])
        .order_by()
        .values_list(_first(scheduled, "-scheduled_for"), _first(manual, "-created_at"))
    )
    ids = {run_id for pair in found for run_id in pair if run_id is not None}
    newest: dict[str, CronRun] = {}
    for run in CronRun.objects.using(alias).filter(pk__in=ids).order_by("created_at"):
        newest[run.job_id] = run
    return newest


def _in_words(job: CronJob, rules: PlanningRules) -> str:
    try:
        return describe(schedule_for(job.definition(), rules))
    except InvalidCronExpression:
        return ""


def _first(runs: QuerySet[CronRun], order: str) -> Subquery:
    return Subquery(runs.order_by(order).values("pk")[:1])
