"""Cron jobs as a crontab, whose lines run them by ``manage.py dyncron_run``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from ..core.exceptions import InvalidCronExpression
from ..core.planning import PlanningRules, schedule_for
from ..core.schedule import CronSchedule
from ..core.text import printable
from ..models import CronJob

_POLICIES = (
    "misfire_policy",
    "overlap_policy",
    "jitter_seconds",
    "catch_up_window_seconds",
    "dst_gap",
    "dst_fold",
)
_HEAD = """\
# Made by manage.py dyncron_export. Stop every scheduler before cron takes over.
# Cron catches up on nothing, keeps no history and runs on this machine alone."""


def write_crontab(jobs: Iterable[CronJob], rules: PlanningRules, manage: str) -> str:
    """Return a crontab of ``jobs``, in which ``manage`` is what runs a command of Django's.

    What a crontab cannot say is in comments; a job that no crontab can run as it is, or that is
    paused, becomes a comment, too. Each zone has a line with the variable ``CRON_TZ``, which not
    every cron knows.
    """
    lines = [_HEAD]
    zone = ""
    for job in jobs:
        lines.append("")
        lines.extend(f"# {line}" for line in _comments(job))
        try:
            schedule = schedule_for(job.definition(), rules)
        except InvalidCronExpression as error:
            lines.append(f"# Left out: {printable(str(error))}")
            continue
        if schedule.time_zone != zone:
            zone = schedule.time_zone
            lines.append(f"CRON_TZ={zone}")
        lines.extend(_entry(job, schedule, manage))
    return "\n".join(lines) + "\n"


def _comments(job: CronJob) -> Iterator[str]:
    yield printable(job.job_id)
    yield from map(printable, job.description.splitlines())
    if job.starts_at:
        yield f"Not before {job.starts_at:%Y-%m-%dT%H:%MZ}: add this line then."
    if job.ends_at:
        yield f"Not after {job.ends_at:%Y-%m-%dT%H:%MZ}: remove this line then."
    usual = CronJob()
    for name in _POLICIES:
        value = getattr(job, name)
        if value != getattr(usual, name):
            yield f"A crontab cannot say {name} = {value}."


def _entry(job: CronJob, schedule: CronSchedule, manage: str) -> Iterator[str]:
    options_end = "-- " if job.job_id.startswith("-") else ""
    command = f"{manage} dyncron_run {options_end}{shlex.quote(job.job_id)}".replace("%", r"\%")
    line = f"{schedule.canonical} {command}"
    if any(field.special for field in schedule.fields):
        yield f"# Left out, as a crontab has no such days: {line}"
    elif not (job.job_id.isprintable() and manage.isprintable()):
        yield "# Left out, as its name does not fit into a line."
    elif job.is_active:
        yield line
    else:
        yield f"# Paused: {line}"
