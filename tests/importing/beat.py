"""What django-celery-beat has in its tables, and when Celery would run each of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from celery import Celery
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    PeriodicTasks,
    SolarSchedule,
)
from django_celery_beat.schedulers import ModelEntry

from tests.importing.beat_rows import CHANGED, INSTANTS, ROWS, TASK

_HOW_MANY = 3
_SECOND = timedelta(seconds=1)

app = Celery("shop", set_as_current=True)
app.conf.timezone = "UTC"


def add_rows() -> None:
    for name, values in ROWS.items():
        row = dict(values)
        schedule = _add_schedule(row)
        last_run_at = row.pop("last_run_at", None)
        task = PeriodicTask(**{"name": name, "task": TASK, **schedule, **row})
        task.save()
        # When it was changed is the present moment otherwise.
        PeriodicTask.objects.filter(pk=task.pk).update(
            date_changed=CHANGED, last_run_at=last_run_at
        )
    PeriodicTasks.objects.update(last_update=CHANGED)


def _add_schedule(row: dict[str, Any]) -> dict[str, Any]:
    if "clocked" in row:
        return {"clocked": ClockedSchedule.objects.create(clocked_time=row.pop("clocked"))}
    models = {"crontab": CrontabSchedule, "interval": IntervalSchedule, "solar": SolarSchedule}
    (kind,) = models.keys() & row.keys()
    schedule = models[kind](**row.pop(kind))
    schedule.full_clean() if kind == "solar" else schedule.save()
    schedule.save()
    return {kind: schedule}


def expectations() -> dict[str, Any]:
    """Return the next runs of each task after each instant, or the error that Celery has of it."""
    return {
        task.name: _told(task)
        for task in PeriodicTask.objects.select_related("crontab", "interval", "clocked")
    }


def _told(task: PeriodicTask) -> dict[str, Any]:
    if task.solar_id:
        return {"error": "needs ephem"}
    try:
        return {
            instant: [_text(moment) for moment in _runs(task, datetime.fromisoformat(instant))]
            for instant in INSTANTS
        }
    except ValueError as error:
        return {"error": str(error)}


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _runs(task: PeriodicTask, instant: datetime) -> list[datetime]:
    """List the runs after ``instant`` of a beat that has been running on time.

    The list ends early where Celery finds a task due again that has just run.
    """
    runs: list[datetime] = []
    last = instant
    while len(runs) < _HOW_MANY and not (task.one_off and runs):
        moment = _first_run(task, instant) if not runs else _next_run(task, last)
        if moment is None or moment <= last or (task.expires and moment >= task.expires):
            break
        _check_with_beat(task, last, moment)
        runs.append(moment)
        last = moment
    return runs


def _first_run(task: PeriodicTask, instant: datetime) -> datetime | None:
    if task.clocked:
        return task.clocked.clocked_time
    if task.start_time and instant < task.start_time:
        return task.due_start_time(UTC)
    if task.interval:
        every = task.interval.schedule.run_every
        last = task.last_run_at or task.start_time or task.date_changed
        # Whole intervals, so that a year of minutes need not be walked through.
        last += every * max(0, (instant - last) // every)
        return _next_run(task, last)
    return _next_run(task, instant)


def _next_run(task: PeriodicTask, last: datetime) -> datetime:
    schedule = task.schedule
    schedule.nowfun = lambda: last
    return last + schedule.remaining_estimate(last)


def _check_with_beat(task: PeriodicTask, last: datetime, moment: datetime) -> None:
    """Have beat's own entry say that the task is due at ``moment``, and not a second before."""
    if task.start_time and last < task.start_time:
        return  # it is held back by then
    if task.interval and (moment - last) != task.interval.schedule.run_every:
        last = moment - task.interval.schedule.run_every
    copy = PeriodicTask.objects.get(pk=task.pk)
    copy.enabled, copy.last_run_at, copy.total_run_count = True, last, 0
    for now, due in ((moment - _SECOND, False), (moment, True)):
        if now <= last:
            continue
        entry = ModelEntry(copy, app=app)
        entry._default_now = lambda now=now: now
        entry.schedule.nowfun = lambda now=now: now
        assert entry.is_due().is_due is due, (task.name, last, now)
