"""The panel beside an expression: what it says in words, and when it runs next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from ..core.exceptions import InvalidCronExpression
from ..core.schedule import CronSchedule
from ..describe import describe, error_text, notice_texts
from ..job_checks import job_notices
from ..models import CronJob
from ..outlook import planning_rules, upcoming_slots
from .moments import exact, relative

_RUNS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Column:
    """The next runs on the clocks of one zone, and whose clocks those are."""

    zone: str
    whose: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    cells: tuple[str, ...]
    away: str
    moment: str
    in_utc: str


def schedule_panel(
    job: CronJob,
    now: datetime,
    browser_zone: ZoneInfo | None = None,
    problems: Sequence[str] = (),
) -> str:
    """Render the panel for the schedule of ``job`` as it stands in memory, saved or not.

    ``problems`` are said before all else. Next runs are told in the job's zone, in that of the
    request and in ``browser_zone``, as far as their clocks differ.
    """
    context: dict[str, object] = {"job": job, "problems": problems}
    if job.cron_expression:
        try:
            schedule, slots = upcoming_slots(job, _RUNS_SHOWN, now, planning_rules())
        except (InvalidCronExpression, OverflowError) as error:
            context["error"] = error_text(error)
        else:
            context["words"] = describe(schedule)
            context["notices"] = [
                *notice_texts(schedule, now),
                *job_notices(job.definition(), job.ping_url),
            ]
            columns = _columns(schedule, slots, browser_zone)
            context |= {"columns": columns, "rows": _rows(columns, slots, now)}
    return render_to_string("django_dyncron/schedule_panel.html", context)


def _columns(
    schedule: CronSchedule, slots: Sequence[datetime], browser_zone: ZoneInfo | None
) -> list[_Column]:
    """Return a column for each zone whose clocks show the slots differently."""
    zones: list[tuple[str, str, tzinfo]] = [
        (schedule.time_zone, _("this job"), ZoneInfo(schedule.time_zone)),
        (
            timezone.get_current_timezone_name(),
            _("this site"),
            timezone.get_current_timezone(),
        ),
    ]
    if browser_zone is not None:
        zones.append((browser_zone.key, _("this browser"), browser_zone))
    found: dict[tuple[str, ...], _Column] = {}
    for name, whose, zone in zones:
        cells = tuple(exact(slot, zone) for slot in slots)
        found.setdefault(cells, _Column(name, whose, cells))
    return list(found.values())


def _rows(columns: Sequence[_Column], slots: Sequence[datetime], now: datetime) -> list[_Row]:
    return [
        _Row(
            cells=tuple(column.cells[index] for column in columns),
            away=relative(slot, now),
            moment=f"{slot:%Y-%m-%dT%H:%M:%SZ}",
            in_utc=exact(slot, UTC),
        )
        for index, slot in enumerate(slots)
    ]
