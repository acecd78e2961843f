"""What django-q2 has in its table of schedules, and when it would run each of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from unittest import mock

from django.utils import timezone
from django_q.models import Schedule

_FUNC = "tests.shop.tasks.restock"
_HOW_MANY = 4


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


ROWS: dict[str, dict[str, Any]] = {
    "once": {"schedule_type": "O", "next_run": at("2027-02-14T09:30:20Z")},
    "every 20 minutes": {"schedule_type": "I", "minutes": 20},
    "every 50 minutes": {"schedule_type": "I", "minutes": 50},
    "hourly": {"schedule_type": "H"},
    "daily": {"schedule_type": "D"},
    "daily, three times": {"schedule_type": "D", "repeats": 3},
    "daily, no more": {"schedule_type": "D", "repeats": 0},
    "weekly": {"schedule_type": "W"},
    "biweekly": {"schedule_type": "BW"},
    "monthly": {"schedule_type": "M"},
    "monthly, on the 31st": {"schedule_type": "M", "next_run": at("2027-01-31T12:00:00Z")},
    "monthly, on two dates": {"schedule_type": "M", "next_run": at("2026-12-10T23:30:00Z")},
    "bimonthly": {"schedule_type": "BM"},
    "quarterly": {"schedule_type": "Q"},
    "yearly": {"schedule_type": "Y"},
    "cron": {
        "schedule_type": "C",
        "cron": "*/10 6-20 * * 1-5",
        "next_run": at("2026-12-01T05:40:00Z"),
    },
    "cron, both days": {
        "schedule_type": "C",
        "cron": "0 9 */10 * 1",
        "next_run": at("2026-12-01T08:00:00Z"),
    },
    "arguments": {"schedule_type": "D", "args": "4", "cluster": "slow"},
    "arguments by name": {"schedule_type": "D", "kwargs": "count=3"},
    "arguments as a dict": {"schedule_type": "D", "kwargs": "{'count': 3}"},
    "options": {"schedule_type": "D", "kwargs": "count=3, q_options={'timeout': 5}", "hook": "a.b"},
    "the intended date": {"schedule_type": "D", "intended_date_kwarg": "day"},
    "code for arguments": {"schedule_type": "D", "args": "__import__('os').getcwd()"},
    "same name": {"schedule_type": "H"},
}
NEXT_RUN = at("2026-12-01T05:40:15Z")


def add_rows() -> None:
    rows = [{"name": name, **row} for name, row in ROWS.items()]
    rows += [{"name": name, "schedule_type": "D"} for name in ("same name", None)]
    # All at once, because its save() lets cron count from the present moment.
    Schedule.objects.bulk_create(
        Schedule(**{"func": _FUNC, "next_run": NEXT_RUN, **row}) for row in rows
    )


def expectations() -> dict[str, list[str]]:
    """Return the runs of each schedule, by its row's key, from the one that it has noted on."""
    return {str(each.pk): list(map(_text, _runs(each))) for each in Schedule.objects.order_by("pk")}


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _runs(schedule: Schedule) -> list[datetime]:
    if schedule.repeats == 0:
        return []
    most = schedule.repeats if schedule.repeats > 0 else _HOW_MANY
    runs = [schedule.next_run]
    while schedule.schedule_type != Schedule.ONCE and len(runs) < min(most, _HOW_MANY):
        # For cron it counts from the present moment.
        with mock.patch.object(timezone, "now", return_value=runs[-1]):
            runs.append(schedule.calculate_next_run(runs[-1]))
    return runs
