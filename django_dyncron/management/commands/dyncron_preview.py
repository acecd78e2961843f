"""``manage.py dyncron_preview EXPR``: what an expression means and when it fires."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from ...conf import read_settings
from ...core.exceptions import InvalidCronExpression
from ...core.notices import notices
from ...core.schedule import CronSchedule
from ...core.text import iso_utc
from ...core.zones import DST_FOLDS, DST_GAPS, load_zone
from ...describe import describe, error_text, notice_text

_MOST_RUNS = 1000


class Command(BaseCommand):
    help = "Says in words what a cron expression means, what may surprise, and when it fires next."
    # It touches no database, and is most wanted where something is not configured yet.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("expression", metavar="EXPR", help="Five fields in quotes or an alias.")
        parser.add_argument("--time-zone", help="IANA name; default: the project's.")
        parser.add_argument("--dst-gap", choices=DST_GAPS, default=DST_GAPS[0])
        parser.add_argument("--dst-fold", choices=DST_FOLDS, default=DST_FOLDS[0])
        parser.add_argument("--job-id", help="The cron job whose H is meant.")
        parser.add_argument("--count", type=_count, default=5, help="How many runs to list.")
        parser.add_argument("--after", type=_instant, help="ISO 8601, UTC if naive; default: now.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            schedule = CronSchedule.parse(
                options["expression"],
                options["time_zone"] or read_settings()[0].time_zone,
                dst_gap=options["dst_gap"],
                dst_fold=options["dst_fold"],
                hash_id=options["job_id"],
            )
        except InvalidCronExpression as error:
            raise CommandError(error_text(error)) from error
        preview = _preview(schedule, options["after"] or timezone.now(), options["count"])
        if options["json"]:
            self.stdout.write(json.dumps(preview, ensure_ascii=False, indent=2))
        else:
            self._write(preview)

    def _write(self, preview: Mapping[str, Any]) -> None:
        self.stdout.write(self.style.MIGRATE_HEADING(preview["description"]))
        for notice in preview["notices"]:
            self.stdout.write(self.style.WARNING(notice["text"]))
        if preview["time_zone"] == "UTC":
            self.stdout.write(_("Next runs in UTC:"))
        else:
            heading = _("Next runs in %(time_zone)s and in UTC:")
            self.stdout.write(heading % {"time_zone": preview["time_zone"]})
        for run in preview["next_runs"]:
            local = "" if preview["time_zone"] == "UTC" else f"{run['local']}  "
            self.stdout.write(f"  {local}{run['utc']}")


def _preview(schedule: CronSchedule, after: datetime, count: int) -> dict[str, Any]:
    zone = load_zone(schedule.time_zone)
    return {
        "expression": schedule.expression,
        "canonical": schedule.canonical,
        "time_zone": schedule.time_zone,
        "description": describe(schedule),
        "notices": [
            {"code": notice.code.value, "text": notice_text(notice)}
            for notice in notices(schedule, after)
        ],
        "next_runs": [
            {
                "local": slot.astimezone(zone).isoformat(timespec="minutes"),
                "utc": iso_utc(slot, "minutes"),
            }
            for slot in schedule.upcoming(after, count)
        ],
    }


def _count(text: str) -> int:
    if text.isdigit() and 1 <= int(text) <= _MOST_RUNS:
        return int(text)
    raise ArgumentTypeError(f"'{text}': use 1 to {_MOST_RUNS}")


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"'{text}': use ISO 8601, such as 2026-11-01T05:30Z") from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
