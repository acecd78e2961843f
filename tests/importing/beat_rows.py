"""Fifty varied periodic tasks, as people have them in django-celery-beat."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

TASK = "tests.shop.tasks.restock"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


CHANGED = at("2026-11-20T08:00:00Z")
RAN = at("2026-11-30T23:07:13.250Z")


def crontab(text: str, zone: str = "UTC", **task: Any) -> dict[str, Any]:
    """Take the fields in cron's order, divided by spaces; a ``_`` stands for a space in a field."""
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    fields = (field.replace("_", " ") for field in text.split(" "))
    return {"crontab": {**dict(zip(names, fields, strict=True)), "timezone": zone}, **task}


def interval(every: int, period: str, **task: Any) -> dict[str, Any]:
    return {"interval": {"every": every, "period": period}, "last_run_at": RAN, **task}


def clocked(text: str, **task: Any) -> dict[str, Any]:
    return {"clocked": at(text), "one_off": True, **task}


ROWS: dict[str, dict[str, Any]] = {
    # Fields
    "every minute": crontab("* * * * *"),
    "every quarter of an hour": crontab("*/15 * * * *", "Europe/Berlin"),
    "every hour, Berlin": crontab("0 * * * *", "Europe/Berlin"),
    "every hour, New York": crontab("30 * * * *", "America/New_York"),
    "lists": crontab("0,15,45 8,12,18 * * *", "America/New_York"),
    "lists with spaces": crontab("0,_30 8,_20 * * 1,_3", "Europe/Paris"),
    "ranges with steps": crontab("1-59/7 9-17/2 * * *", "Asia/Kolkata"),
    "uneven steps": crontab("*/7 */5 * * *", "Asia/Tokyo"),
    "working days": crontab("30 6 * * mon-fri", "Europe/Berlin"),
    "names in full": crontab("0 7 * january,july monday,friday"),
    "names in a list": crontab("0 7 * * sun,SAT", "Australia/Lord_Howe"),
    "Sunday is 0": crontab("15 3 * * 0", "Europe/London"),
    "Sunday is 7": crontab("15 3 * * 7", "Europe/London"),
    "every other weekday number": crontab("0 5 * * */2"),
    "wraps around midnight": crontab("0 22-4 * * *", "Europe/Berlin"),
    "wraps around the week": crontab("0 10 * * fri-mon"),
    "all hours, spelt as a range": crontab("5 0-23 * * *", "Europe/Berlin"),
    "step beyond the hour": crontab("*/90 4 * * *"),
    "leading zeros": crontab("05 09 01 * *", "Europe/Berlin"),
    "months": crontab("0 4 1 */3 *", "America/Sao_Paulo"),
    "last of the long months": crontab("0 0 31 * *"),
    "leap day": crontab("0 12 29 2 *"),
    # Both day fields, of which Celery wants both
    "first Monday": crontab("0 9 1-7 * 1", "Europe/Berlin"),
    "second and fourth Friday": crontab("0 9 8-14,22-28 * fri"),
    "the 1st or 15th, if on a Sunday": crontab("0 9 1,15 * 0"),
    "the 10th to 20th, if at the weekend": crontab("0 9 10-20 * 0,6"),
    "the 1st, if on a Monday to Wednesday": crontab("0 9 1,2 * 1-3"),
    "Friday the 13th": crontab("0 9 13 * 5", "Europe/Berlin"),
    "Mondays, days spelt out": crontab("0 9 1-31 * 1"),
    "odd days that are Tuesdays": crontab("0 9 */2 * tue"),
    # Clock changes
    "in the gap, Berlin": crontab("30 2 * * *", "Europe/Berlin"),
    "in the gap, New York": crontab("30 2 * * *", "America/New_York"),
    "in the fold, New York": crontab("30 1 * * *", "America/New_York"),
    "around Lord Howe's half hour": crontab("45 1,2 * * *", "Australia/Lord_Howe"),
    "twice within the gap": crontab("0,30 2,3 * * *", "Europe/Berlin"),
    # Options of a task
    "arguments by name": crontab("0 1 * * *", kwargs='{"count": 3}', queue="slow", priority=7),
    "arguments by place": crontab("0 1 * * *", args="[5]", headers='{"tenant": "north"}'),
    "expires after a while": crontab("0 1 * * *", expire_seconds=300, routing_key="reports"),
    "expires at a moment": crontab("0 1 * * *", expires=at("2027-04-01T01:00:00Z")),
    "expired": crontab("0 1 * * *", expires=at("2026-06-01T00:00:00Z"), enabled=False),
    "an exchange": crontab("0 1 * * *", exchange="shop"),
    "disabled": crontab("0 2 * * *", enabled=False, description="Not before the new year."),
    "starts later": crontab("0 9 * * *", start_time=at("2027-01-10T12:00:00Z")),
    "once": crontab("0 18 * * *", "Europe/Berlin", one_off=True),
    "once, and it was": crontab("0 18 * * *", one_off=True, total_run_count=1, last_run_at=RAN),
    # Intervals
    "every 30 seconds": interval(30, "seconds"),
    "every 15 minutes": interval(15, "minutes"),
    "every 7 minutes": interval(7, "minutes"),
    "every 120 seconds": interval(120, "seconds"),
    "every 6 hours": interval(6, "hours"),
    "every 5 hours": interval(5, "hours"),
    "every day": interval(1, "days"),
    "every 10 days": interval(10, "days"),
    "every 7 days, never run": interval(7, "days", last_run_at=None),
    "every minute, in microseconds": interval(60_000_000, "microseconds"),
    "every hour, from a start": interval(
        1, "hours", last_run_at=None, start_time=at("2027-01-05T06:20:00Z")
    ),
    # Others
    "celery.backend_cleanup": crontab("0 4 * * *", task="celery.backend_cleanup"),
    "clocked": clocked("2027-02-14T09:30:00Z"),
    "clocked, with seconds": clocked("2027-10-31T01:10:20Z"),
    "clocked, years away": clocked("2029-07-01T00:00:00Z"),
    "clocked, past": clocked("2026-03-01T00:00:00Z", enabled=False, total_run_count=1),
    "at sunset": {"solar": {"event": "sunset", "latitude": "52.52", "longitude": "13.4"}},
}

INSTANTS = (
    "2026-12-01T00:00:30Z",
    "2027-03-14T06:40:00Z",  # 01:40 in New York, twenty minutes before its gap
    "2027-03-28T00:40:00Z",  # the same in Berlin
    "2027-04-03T14:40:00Z",  # 01:40 on Lord Howe, the first time
    "2027-04-03T15:10:00Z",  # 01:40, the second time
    "2027-10-02T15:10:00Z",  # 01:40, before a gap of half an hour
    "2027-10-31T00:10:00Z",  # 02:10 in Berlin, the first time
    "2027-10-31T01:10:00Z",  # 02:10, the second time
    "2027-11-07T05:10:00Z",  # 01:10 in New York, the first time
    "2027-12-31T23:59:59Z",
    "2028-02-28T12:00:00Z",
)
