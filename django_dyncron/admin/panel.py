"""The panel beside an expression: what it says in words, and when it runs next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.template.loader import render_to_string

from ..core.exceptions import InvalidCronExpression
from ..core.schedule import CronSchedule
from ..describe import describe, notice_texts
from ..job_checks import job_notices
from ..models import CronJob
from ..outlook import planning_rules, upcoming_slots
from .moments import exact, relative

_RUNS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Row:
    in_zone: str
    in_utc: str
    away: str


def schedule_panel(job: CronJob, now: datetime) -> str:
    """Render the panel for the schedule of ``job`` as it stands in memory, saved or not."""
    context: dict[str, object] = {"job": job}
    if job.cron_expression:
        try:
            schedule, slots = upcoming_slots(job, _RUNS_SHOWN, now, planning_rules())
        except (InvalidCronExpression, OverflowError) as error:
            context["error"] = str(error)
        else:
            context |= _explained(schedule, slots, now)
            context["notices"] = [*notice_texts(schedule, now), *job_notices(job.definition())]
    return render_to_string("django_dyncron/schedule_panel.html", context)


def _explained(schedule: CronSchedule, slots: list[datetime], now: datetime) -> dict[str, object]:
    zone = ZoneInfo(schedule.time_zone)
    return {
        "words": describe(schedule),
        "time_zone": schedule.time_zone,
        "is_utc": schedule.time_zone == "UTC",
        "rows": [_Row(exact(slot, zone), exact(slot, UTC), relative(slot, now)) for slot in slots],
    }
