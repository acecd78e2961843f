"""Periodic tasks of django-celery-beat, read from its tables as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from ...core.fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH
from ...core.schedule import CronSchedule
from ...core.text import storable
from ..entries import CannotImport, Entry, LeftOut, Runs, Source
from ._celery_crontab import CeleryCrontab
from ._intervals import in_words, interval_expression, interval_runs
from ._limits import between, end_before, limited, run_once_at
from ._tables import Row, moment, read_table
from ._task_calls import fitting_options, named_arguments, usual_queue

_TASKS = "django_celery_beat_periodictask"
_SCHEDULES = {
    "crontab": "django_celery_beat_crontabschedule",
    "interval": "django_celery_beat_intervalschedule",
    "clocked": "django_celery_beat_clockedschedule",
    "solar": "django_celery_beat_solarschedule",
}
_COLUMNS = {
    MINUTE: "minute",
    HOUR: "hour",
    DAY_OF_MONTH: "day_of_month",
    MONTH: "month_of_year",
    DAY_OF_WEEK: "day_of_week",
}
_PERIODS = ("days", "hours", "minutes", "seconds", "microseconds")
_TITLE = "django-celery-beat"
_CLOCK_CHANGES = (
    "When clocks go back, Celery leaves out the hour that comes twice the second time, for every "
    "crontab; here only a time of day runs once, and what runs every hour or every few minutes "
    "goes on. When clocks go forward, Celery runs a time that is skipped as much later as the gap "
    "is long; here it runs right after the gap."
)


def read_django_celery_beat(using: str, now: datetime, enqueuer: str = "") -> Source:
    """Read every periodic task from the tables in the database ``using``.

    What runs once is worked out as of ``now``. ``enqueuer`` is the queue system that the jobs are
    for, by its name among ``ENQUEUERS``. Raises :class:`SourceError`.
    """
    source = Source(_TITLE, clock_changes=_CLOCK_CHANGES)
    tasks = read_table(using, _TASKS)
    kinds = [kind for kind in _SCHEDULES if any(task.get(f"{kind}_id") for task in tasks)]
    schedules = {
        kind: {row["id"]: row for row in read_table(using, _SCHEDULES[kind])} for kind in kinds
    }
    if not _counts_zone_of_row():
        source.notes.append(
            "DJANGO_CELERY_BEAT_TZ_AWARE is off: Celery's own time zone counts for every crontab, "
            f"by the setting CELERY_TIMEZONE {_zone_of_celery()}."
        )
    for task in tasks:
        reader = _Reader(using, task, schedules, now, enqueuer)
        source.take(reader.entry, reader.left_out)
    return source


class _Reader:
    """Reads one periodic task: first when it runs, then what, then how."""

    def __init__(
        self,
        using: str,
        task: Row,
        schedules: Mapping[str, Mapping[int, Row]],
        now: datetime,
        enqueuer: str,
    ) -> None:
        self._task = task
        self._schedules = schedules
        self._now = now
        self._enqueuer = enqueuer
        names = ("start_time", "expires", "last_run_at", "date_changed")
        self._dates = {name: moment(using, task.get(name)) for name in names}
        self._using = using
        self._notes: list[str] = []
        self._runs: Runs | None = None
        self._zone = ""
        self._is_over = False
        self._from_now: frozenset[str] = frozenset()

    def entry(self) -> Entry:
        task = self._task
        self._refuse_what_is_over()
        values = self._limited(self._schedule())
        values |= {
            "task_name": task["task"],
            "payload": self._payload(),
            "queue": task.get("queue") or usual_queue(task["task"], self._enqueuer),
            "options": self._options(),
            "description": storable(task.get("description") or ""),
            "is_active": bool(task["enabled"]),
        }
        if not values["is_active"]:
            values["pause_reason"] = f"Disabled in {_TITLE}."
        if self._dates["last_run_at"]:
            values["last_run_at"] = self._dates["last_run_at"]
        return Entry(
            task["name"], values, tuple(self._notes), self._runs, self._place, self._from_now
        )

    def left_out(self, refusal: CannotImport) -> LeftOut:
        if self._runs is None and not self._is_over:
            self._try_to_tell_runs()
        name, reason = self._task["name"], str(refusal)
        return LeftOut(name, reason, self._runs, self._place, refusal.instead, self._zone)

    @property
    def _place(self) -> str:
        return f"periodic task {self._task['id']}"

    def _refuse_what_is_over(self) -> None:
        task, expires = self._task, self._dates["expires"]
        if task["task"].startswith("celery."):
            raise CannotImport(
                "It is a task of Celery's own, which no job may call: call it from one of yours."
            )
        self._is_over = True
        if task.get("one_off") and task.get("total_run_count"):
            raise CannotImport("It was to run once, and it has.")
        if expires and expires <= self._now:
            raise CannotImport(f"It has expired, on {expires:%Y-%m-%d}.")
        self._is_over = False

    def _try_to_tell_runs(self) -> None:
        notes, self._notes = self._notes, []
        with suppress(CannotImport, OverflowError):  # the reason is known already
            self._limited(self._schedule())
        self._notes = notes

    # When

    def _schedule(self) -> dict[str, Any]:
        for kind, read in (
            ("crontab", self._crontab),
            ("interval", self._interval),
            ("clocked", self._clocked),
            ("solar", self._solar),
        ):
            key = self._task.get(f"{kind}_id")
            if key is not None and key in self._schedules[kind]:
                return read(self._schedules[kind][key])
        raise CannotImport("It has no schedule.")

    def _crontab(self, row: Row) -> dict[str, Any]:
        self._zone = row["timezone"] if _counts_zone_of_row() else _zone_of_celery()
        fields = {kind: row[column] for kind, column in _COLUMNS.items()}
        crontab = CeleryCrontab.read(fields, self._zone)
        self._runs = limited(
            crontab.upcoming, first=self._dates["start_time"], until=self._dates["expires"]
        )
        spelling = crontab.spelling()
        if spelling.is_respelt:
            as_it_was = " ".join(fields[kind] for kind in _COLUMNS)
            self._notes.append(f"Celery's '{as_it_was}' is '{spelling.expression}' here.")
        return {"cron_expression": spelling.expression, "time_zone": self._zone}

    def _interval(self, row: Row) -> dict[str, Any]:
        if row["period"] not in _PERIODS:
            raise CannotImport(f"Its interval has the unknown unit {row['period']!r}.")
        every = timedelta(**{row["period"]: row["every"]})
        anchor = self._anchor()
        if every > timedelta(0):
            self._runs = limited(interval_runs(every, anchor), until=self._dates["expires"])
        expression = interval_expression(every, anchor)
        self._notes.append(
            f"Celery counts {in_words(every)} from each run to the next, of late from "
            f"{anchor:%Y-%m-%d %H:%M:%S} UTC; here it stays at '{expression}' in UTC, and at whole "
            "minutes."
        )
        return {"cron_expression": expression, "time_zone": "UTC"}

    def _anchor(self) -> datetime:
        """Return a moment that Celery counts intervals from."""
        dates = self._dates
        start, last = dates["start_time"], dates["last_run_at"]
        if start and (last is None or last < start):
            return start
        return last or dates["date_changed"] or self._now

    def _clocked(self, row: Row) -> dict[str, Any]:
        at = moment(self._using, row["clocked_time"])
        assert at is not None, "the column is never empty"
        start, expires = self._dates["start_time"], self._dates["expires"]
        at = max(at, start or at)
        self._runs = limited(lambda after: iter([at] if at > after else []))
        if at <= self._now:
            raise CannotImport(f"It was for {at:%Y-%m-%d %H:%M} UTC, which has passed.")
        if expires and expires <= at:
            raise CannotImport("It expires before it is due.")
        values = run_once_at(at)
        if values["starts_at"] != at:
            self._notes.append(
                f"It was for {at:%H:%M:%S}; here it runs at the next whole minute, "
                f"{values['starts_at']:%H:%M} UTC."
            )
        return values

    def _solar(self, row: Row) -> dict[str, Any]:
        raise CannotImport(
            f"It follows the sun ({row['event']} at {row['latitude']}, {row['longitude']}), and no "
            "cron expression does."
        )

    def _limited(self, values: dict[str, Any]) -> dict[str, Any]:
        """Add the dates between which it runs, the one run of a one-off included."""
        start, expires = self._dates["start_time"], self._dates["expires"]
        if "starts_at" in values:
            return values
        if start and start > self._now:
            values["starts_at"] = start
            if self._task.get("crontab_id"):
                self._notes.append(
                    "Celery may run it right at its start time, too; here its first run is the "
                    "first that its crontab names."
                )
        if expires:
            values["ends_at"] = end_before(expires)
            if start and start >= values["ends_at"]:
                raise CannotImport("It expires before it starts.")
        if not self._task.get("one_off") or self._runs is None:
            return values
        self._runs = limited(self._runs, count=1)
        schedule = CronSchedule.parse(values["cron_expression"], values["time_zone"])
        slot = schedule.next_after(max(self._now, start or self._now))
        if expires and slot >= expires:
            raise CannotImport("It was to run once, and has no run ahead.")
        if not self._task["enabled"]:
            self._notes.append("Its one run is told as if it were enabled now; set its dates then.")
        dates = between(slot, slot)
        self._from_now = frozenset(dates)
        return values | dates

    # What

    def _payload(self) -> dict[str, Any]:
        args = self._json("args", list)
        kwargs = self._json("kwargs", dict)
        return named_arguments(self._task["task"], args, kwargs, self._enqueuer)

    def _json(self, column: str, kind: type) -> Any:
        text = self._task.get(column)
        if not text:
            return kind()
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CannotImport(f"Its {column} are no JSON, and Celery never ran it.") from error
        if not isinstance(value, kind):
            raise CannotImport(f"Its {column} are no JSON {_JSON_WORDS[kind]}.")
        return value

    # How

    def _options(self) -> dict[str, Any]:
        task = self._task
        if task.get("exchange"):
            raise CannotImport(
                f"It is sent to the exchange {task['exchange']!r}: bind a queue to it in "
                "CELERY_TASK_QUEUES, and choose that queue in the job."
            )
        options = {
            "priority": task.get("priority"),
            "expires": task.get("expire_seconds"),
            "routing_key": task.get("routing_key") or None,
            "headers": self._json("headers", dict) or None,
        }
        given = {name: value for name, value in options.items() if value is not None}
        kept, notes = fitting_options(given, self._enqueuer)
        self._notes.extend(notes)
        return kept


_JSON_WORDS: dict[type, str] = {list: "array", dict: "object"}


def _counts_zone_of_row() -> bool:
    return bool(getattr(settings, "DJANGO_CELERY_BEAT_TZ_AWARE", True))


def _zone_of_celery() -> str:
    return str(getattr(settings, "CELERY_TIMEZONE", None) or "UTC")
