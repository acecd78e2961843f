"""Schedules of django-q2, read from its table as they are; ``next_run`` is what they count from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings

from ...core.exceptions import InvalidCronExpression
from ...core.fields import MONTH
from ...core.schedule import CronSchedule
from ...core.zones import load_zone
from ..entries import CannotImport, Entry, LeftOut, Runs, Source, SourceError
from ._calendar_steps import local_steps, yearly_steps
from ._intervals import in_words, interval_expression, interval_runs
from ._limits import between, limited, run_once_at
from ._literals import keyword_arguments, positional_arguments
from ._respelling import spell
from ._tables import Row, moment, read_table
from ._task_calls import named_arguments

_TABLE = "django_q_schedule"
_TITLE = "django-q2"
_CLOCK_CHANGES = (
    "When clocks change, django-q2 keeps the time of day from one run to the next as well as it "
    "can; here a time that is skipped runs right after the gap, and one that comes twice runs once."
)
_MONTHS = {"M": 1, "BM": 2, "Q": 3}
_SAFE_DAY = 28
_MOST_REPEATS = 10_000


def read_django_q2(using: str, now: datetime, enqueuer: str = "") -> Source:
    """Read every schedule from the table in the database ``using``.

    ``enqueuer`` is the queue system that the jobs are for, by its name among ``ENQUEUERS``. Raises
    :class:`SourceError`.
    """
    zone = _project_zone()
    source = Source(_TITLE, clock_changes=_CLOCK_CHANGES)
    rows = read_table(using, _TABLE)
    names = Counter(row["name"] or row["func"] for row in rows)
    for row in rows:
        name = row["name"] or row["func"]
        # Names need not be unique there, and keys stay the same.
        unique = name if names[name] == 1 else f"{name}-{row['id']}"
        reader = _Reader(using, row, unique, zone, enqueuer)
        source.take(partial(reader.entry, now), reader.left_out)
    return source


class _Reader:
    """Reads one schedule: first when it runs, then what."""

    def __init__(self, using: str, row: Row, name: str, zone: ZoneInfo, enqueuer: str) -> None:
        self._row = row
        self._name = name
        self._enqueuer = enqueuer
        self._next_run = moment(using, row.get("next_run"))
        self._zone = zone
        self._place = f"schedule {row['id']}"
        self._notes: list[str] = []
        self._runs: Runs | None = None

    def entry(self, now: datetime) -> Entry:
        row = self._row
        if row["repeats"] == 0:
            raise CannotImport("It has no runs left.")
        if self._next_run is None:
            raise CannotImport("It has no next run.")
        values = self._schedule(self._next_run, now)
        if self._next_run <= now:
            self._notes.append(
                f"Its next run was {self._next_run:%Y-%m-%d %H:%M} UTC, which {_TITLE} would make "
                "up for; here nothing of the past is run."
            )
        values |= {
            "task_name": row["func"],
            "payload": self._payload(),
            "queue": row.get("cluster") or "default",
        }
        if row.get("hook"):
            self._notes.append(f"Its hook {row['hook']} is not called: call it from the task.")
        return Entry(self._name, values, tuple(self._notes), self._runs, self._place)

    def left_out(self, refusal: CannotImport) -> LeftOut:
        return LeftOut(self._name, str(refusal), self._runs, self._place)

    # When

    def _schedule(self, first: datetime, now: datetime) -> dict[str, Any]:
        kind = self._row["schedule_type"]
        if kind == "O":
            self._runs = limited(lambda after: iter([first] if first > after else []))
            if first <= now:
                raise CannotImport(f"It was for {first:%Y-%m-%d %H:%M} UTC, which has passed.")
            return run_once_at(first)
        readers: dict[str, Callable[[datetime], dict[str, Any]]] = {
            "I": lambda first: self._interval(timedelta(minutes=self._row["minutes"] or 1), first),
            "H": lambda first: self._interval(timedelta(hours=1), first),
            "D": lambda first: self._days(1, first),
            "W": lambda first: self._days(7, first),
            "BW": lambda first: self._days(14, first),
            "M": self._months,
            "BM": self._months,
            "Q": self._months,
            "Y": self._year,
            "C": self._cron,
        }
        if kind not in readers:
            raise CannotImport(f"Its type {kind!r} is not known.")
        values = readers[kind](first)
        if first > now:
            values["starts_at"] = first.replace(second=0, microsecond=0)
        return self._counted(values, first, now)

    def _counted(self, values: dict[str, Any], first: datetime, now: datetime) -> dict[str, Any]:
        """Let it end with the last of its runs, if they are counted."""
        repeats = self._row["repeats"]
        if repeats < 0:
            return values
        assert self._runs is not None, "every type has runs"
        if repeats > _MOST_REPEATS:
            raise CannotImport(f"It has {repeats} runs left, too many to tell when it would end.")
        until = list(
            zip(range(repeats), self._runs(first - timedelta(microseconds=1)), strict=False)
        )
        last = until[-1][1].replace(second=0, microsecond=0)
        if last <= now:
            raise CannotImport(f"The last of its {repeats} runs was due {last:%Y-%m-%d %H:%M} UTC.")
        self._runs = limited(self._runs, until=last + timedelta(minutes=1))
        self._notes.append(
            f"It has {repeats} runs left; here it ends at the time of the last, "
            f"{last:%Y-%m-%d %H:%M} UTC, whether or not some are missed."
        )
        return values | between(values.get("starts_at", min(first, now)), last)

    def _interval(self, every: timedelta, first: datetime) -> dict[str, Any]:
        self._runs = interval_runs(every, first)
        return {"cron_expression": interval_expression(every, first), "time_zone": "UTC"}

    def _days(self, days: int, first: datetime) -> dict[str, Any]:
        self._runs = local_steps(first, self._zone, days=days)
        if days > 7:
            raise CannotImport(
                f"Every {in_words(timedelta(days=days))} is no time of a week, a month or a year: "
                "let it run every week, and let the task look at the date."
            )
        at = first.astimezone(self._zone)
        weekday = str(at.isoweekday() % 7) if days == 7 else "*"
        return self._local(f"{at.minute} {at.hour} * * {weekday}")

    def _months(self, first: datetime) -> dict[str, Any]:
        months = _MONTHS[self._row["schedule_type"]]
        self._runs = local_steps(first, self._zone, months=months)
        at = first.astimezone(self._zone)
        self._refuse_late_day(at)
        named = [(at.month - 1 + step) % 12 + 1 for step in range(0, 12, months)]
        return self._local(f"{at.minute} {at.hour} {at.day} {spell(MONTH, named)} *")

    def _year(self, first: datetime) -> dict[str, Any]:
        self._runs = yearly_steps(first)
        at = first.astimezone(UTC)
        if (at.month, at.day) == (2, 29):
            raise CannotImport(f"{_TITLE} moves it from 29 February to the 28th for good.")
        expression = f"{at.minute} {at.hour} {at.day} {at.month} *"
        return {"cron_expression": expression, "time_zone": "UTC"}

    def _refuse_late_day(self, at: datetime) -> None:
        if at.day > _SAFE_DAY:
            raise CannotImport(
                f"It is for day {at.day}, which {_TITLE} moves to an earlier day for good, once "
                "a month is too short: choose a day up to 28, or L for the last."
            )

    def _cron(self, first: datetime) -> dict[str, Any]:
        expression = " ".join((self._row["cron"] or "").split())
        try:
            # croniter takes either day where cron wants both, if one of them starts with a star.
            respelt = _either_day(expression)
            schedule = CronSchedule.parse(respelt, self._zone.key)
        except InvalidCronExpression as error:
            raise CannotImport(f"{error}.") from error
        if respelt != expression:
            self._notes.append(f"{_TITLE}'s '{expression}' is '{respelt}' here.")
        if schedule.fields.is_fixed_time:
            self._notes.append(
                "croniter, on which it relies, may run it twice on the day that clocks go back."
            )

        def runs(after: datetime) -> Iterator[datetime]:
            if first > after:
                yield first
            yield from schedule.upcoming(max(first, after), 1000)

        self._runs = runs
        return self._local(respelt)

    def _local(self, expression: str) -> dict[str, Any]:
        return {"cron_expression": expression, "time_zone": self._zone.key}

    # What

    def _payload(self) -> dict[str, Any]:
        row = self._row
        if row.get("intended_date_kwarg"):
            raise CannotImport(
                f"It is told its time as {row['intended_date_kwarg']!r}: let the task ask "
                "current_run().scheduled_for instead."
            )
        args = positional_arguments(row.get("args"))
        kwargs = keyword_arguments(row.get("kwargs"))
        if kwargs.pop("q_options", None):
            self._notes.append(f"Its q_options are for {_TITLE} alone, and are not kept.")
        payload = named_arguments(row["func"], args, kwargs, self._enqueuer)
        try:
            is_plain = json.loads(json.dumps(payload, allow_nan=False)) == payload
        except (TypeError, ValueError, RecursionError):
            is_plain = False
        if not is_plain:
            raise CannotImport("Its arguments hold what JSON cannot, such as a tuple or a set.")
        return payload


def _project_zone() -> ZoneInfo:
    cluster = getattr(settings, "Q_CLUSTER", {})
    name = cluster.get("time_zone") if isinstance(cluster, Mapping) else None
    try:
        return load_zone(name or settings.TIME_ZONE or "UTC")
    except InvalidCronExpression as error:
        raise SourceError(f"{error}, in Q_CLUSTER or TIME_ZONE.") from error


def _either_day(expression: str) -> str:
    """Return ``expression`` so that either day is enough, as croniter has it, if both are given."""
    fields = CronSchedule.parse(expression).fields
    if fields.either_day or fields.day_of_month.is_full or fields.day_of_week.is_full:
        return expression
    parts = expression.split()
    for position in (2, 4):
        kind = fields[position].kind
        parts[position] = parts[position].replace("*", f"{kind.low}-{kind.high}")
    return " ".join(parts)
