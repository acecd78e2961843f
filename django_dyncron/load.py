"""What the schedules of all jobs add up to: runs an hour for a week, and the busiest minutes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from heapq import nsmallest
from typing import Any

from django.db.models import Case, Count, QuerySet, When
from django.utils import timezone

from .conf import database_alias, read_settings
from .core.exceptions import InvalidCronExpression
from .core.expression import is_hashed, spread_expression
from .core.load import Demand, LoadCount
from .core.schedule import CronSchedule
from .models import CronJob

_DAYS = 7
_HOURS = 24
_SCHEDULES = 10_000
"""So many different schedules are counted; further ones, the rarest, are left out."""
_HASHED_JOBS = 5_000
"""So many jobs with an ``H`` are counted one by one; if there are more, all are estimated."""
_BUSIEST = 5
_SHARED = ("cron_expression", "time_zone", "dst_gap", "dst_fold")


@dataclass(frozen=True, slots=True)
class BusyTime:
    """An hour or a minute, by its beginning in UTC, and how many runs are planned in it."""

    starts_at: datetime
    runs: int


@dataclass(frozen=True, slots=True)
class PlannedLoad:
    """How many runs are planned when, as of ``counted_at``.

    ``days`` are seven of 24 hours each, today first, by the wall clock of the zone asked for: when
    clocks go forward an hour is empty, when they go back one is two hours long. ``next_hours`` are
    24 of them, the present one first, and ``busiest`` the busiest minutes that are still to come in
    these. ``left_out`` says how many active jobs are not counted, because there are too many
    different schedules or theirs cannot be read; with ``is_estimated`` some were counted by how
    often they run on average.
    """

    counted_at: datetime
    days: tuple[tuple[BusyTime, ...], ...]
    next_hours: tuple[BusyTime, ...]
    busiest: tuple[BusyTime, ...]
    left_out: int
    is_estimated: bool


def planned_load(
    zone: tzinfo | None = None, *, now: datetime | None = None, using: str | None = None
) -> PlannedLoad:
    """Count what is planned for the week that begins with today in ``zone``.

    ``zone`` is by default the current one, ``now`` the present, ``using`` the scheduler's database
    alias. Slots are counted, as if nothing was paused; when runs are delivered may differ by their
    jitter. Takes one or two queries and some time for each different schedule, not for each job.
    """
    now = now or timezone.now()
    bounds = _hours(now, zone or timezone.get_current_timezone())
    present = max(number for number, bound in enumerate(bounds) if bound <= now)
    count = LoadCount(bounds, present, present + _HOURS)
    demands = _Demands(using or database_alias(read_settings()[0]), bounds[0], bounds[-1])
    count.add(demands)
    hours = [
        BusyTime(bound, round(runs)) for bound, runs in zip(bounds, count.stretches, strict=False)
    ]
    return PlannedLoad(
        counted_at=now,
        days=tuple(tuple(hours[day * _HOURS :][:_HOURS]) for day in range(_DAYS)),
        next_hours=tuple(hours[present:][:_HOURS]),
        busiest=_busiest(count.minutes, bounds[present], now),
        left_out=demands.left_out,
        is_estimated=demands.is_estimated,
    )


def _hours(now: datetime, zone: tzinfo) -> list[datetime]:
    """Return when each hour of the week begins by the wall clock, and when the last one ends."""
    today = now.astimezone(zone).date()
    walls = [
        datetime.combine(today + timedelta(days=day), time(hour), zone)
        for day in range(_DAYS)
        for hour in range(_HOURS)
    ]
    walls.append(datetime.combine(today + timedelta(days=_DAYS), time(0), zone))
    return [wall.astimezone(UTC) for wall in walls]


def _busiest(minutes: list[float], first: datetime, now: datetime) -> tuple[BusyTime, ...]:
    passed = (now - first) // timedelta(minutes=1) + 1
    places = (place for place in range(passed, len(minutes)) if round(minutes[place]))
    chosen = nsmallest(_BUSIEST, places, key=lambda place: (-minutes[place], place))
    return tuple(
        BusyTime(first + timedelta(minutes=place), round(minutes[place])) for place in chosen
    )


class _Demands:
    """The different schedules of the active jobs between two instants, and how many share each."""

    def __init__(self, using: str, first: datetime, end: datetime) -> None:
        self.left_out = 0
        self.is_estimated = False
        self._default_zone = read_settings()[0].time_zone
        self._jobs = CronJob.objects.using(using).filter(is_active=True, due_at__isnull=False)
        # Dates on either side of the time looked at make no difference, so they do not tell apart.
        self._dates = {
            "first": Case(When(starts_at__gt=first, then="starts_at")),
            "last": Case(When(ends_at__lt=end, then="ends_at")),
        }

    def __iter__(self) -> Iterator[Demand]:
        groups = self._jobs.values(*_SHARED, **self._dates).annotate(jobs=Count("pk"))
        rows = list(groups.order_by("-jobs")[:_SCHEDULES])
        if len(rows) == _SCHEDULES:
            self.left_out += self._jobs.count() - sum(row["jobs"] for row in rows)
        hashed = [row for row in rows if is_hashed(row["cron_expression"])]
        self.is_estimated = sum(row["jobs"] for row in hashed) > _HASHED_JOBS
        for row in rows:
            if not is_hashed(row["cron_expression"]):
                yield from self._demand(row)
            elif self.is_estimated:
                yield from self._estimate(row)
        if hashed and not self.is_estimated:
            for row in self._each_of({row["cron_expression"] for row in hashed}):
                yield from self._demand(row)

    def _each_of(self, expressions: set[str]) -> QuerySet[CronJob, dict[str, Any]]:
        jobs = self._jobs.filter(cron_expression__in=expressions).order_by()
        rows: QuerySet[CronJob, dict[str, Any]] = jobs.values("job_id", *_SHARED, **self._dates)
        return rows

    def _estimate(self, row: dict[str, Any]) -> Iterator[Demand]:
        """Count a schedule with an ``H`` as if its jobs had spread themselves evenly."""
        try:
            expression, share = spread_expression(row["cron_expression"])
        except InvalidCronExpression:
            self.left_out += row["jobs"]
            return
        yield from self._demand(row | {"cron_expression": expression}, share)

    def _demand(self, row: dict[str, Any], share: float = 1) -> Iterator[Demand]:
        jobs = row.get("jobs", 1)
        try:
            schedule = CronSchedule.parse(
                row["cron_expression"],
                row["time_zone"] or self._default_zone,
                dst_gap=row["dst_gap"],
                dst_fold=row["dst_fold"],
                hash_id=row.get("job_id"),
            )
        except InvalidCronExpression:
            self.left_out += jobs
        else:
            yield Demand(schedule, jobs * share, row["first"], row["last"])
