"""From a job and an instant to a plan: which slots to run, which to skip, where to look next.

Everything here is pure: the same arguments give the same plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b

from .definitions import CronJobDefinition, aware_utc
from .exceptions import InvalidCronExpression
from .pauses import PausedSpan, Stretch, stretches
from .policies import MisfirePolicy, OverlapPolicy, SkipReason
from .schedule import CronSchedule
from .text import one_line

_INSTANT = timedelta(microseconds=1)
_MINUTE = timedelta(minutes=1)
_LONGEST_TICK = timedelta(hours=1)
_RUNS_PER_PASS = 100
"""A job with more to make up does so in several passes, others in between."""
_ROWS_PER_PASS = 100
"""A longer stretch of skipped slots is recorded as one row with a count."""


@dataclass(frozen=True, slots=True)
class PlanningRules:
    """What a scheduler decides for jobs that do not decide it themselves."""

    time_zone: str = "UTC"
    tick_interval: timedelta = timedelta(seconds=30)
    catch_up_window: timedelta = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Skip:
    """Slots not to be run: ``count`` of them from ``first`` to ``last``, both included."""

    first: datetime
    last: datetime
    count: int = 1
    reason: str = SkipReason.MISFIRE


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A slot to run, and the instant before which it is not to be delivered (both UTC)."""

    scheduled_for: datetime
    deliver_at: datetime


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What to do with one job.

    ``next_run_at`` is the new cursor; ``None`` with ``is_settled`` means that nothing is left to
    run, without it that the job is paused. A plan with an ``error`` runs nothing.
    """

    runs: tuple[PlannedRun, ...] = ()
    skips: tuple[Skip, ...] = ()
    next_run_at: datetime | None = None
    is_settled: bool = False
    error: str = ""
    time_zone: str = ""


def plan_job(
    job: CronJobDefinition,
    cursor: datetime | None,
    now: datetime,
    rules: PlanningRules,
    plan_from: datetime | None = None,
    pauses: Sequence[PausedSpan] = (),
) -> JobPlan:
    """Plan a job whose cursor is known, or, with ``cursor=None``, one that is new or edited.

    A new or edited job gets its first cursor after ``plan_from`` (default: ``now``) and runs
    nothing yet: the past before that instant is none of its business. No slot within ``pauses`` is
    run; they are in the order of their beginnings.
    """
    if not job.is_active:
        return JobPlan()
    try:
        schedule = schedule_for(job, rules)
        if cursor is None:
            return _ahead(job, schedule, _from_when(plan_from, now))
        slots, skips = missed(job, schedule, cursor - _INSTANT, now, rules, pauses)
        # Of slots that must not overlap one is run at most, so they are judged together.
        most = len(slots) if job.overlap_policy == OverlapPolicy.SKIP else _RUNS_PER_PASS
        runs = tuple(PlannedRun(slot, slot + jitter(job, schedule, slot)) for slot in slots[:most])
        if len(slots) <= most:
            return _ahead(job, schedule, max(now, cursor - _INSTANT), runs, skips)
        # What this pass does not get to is still due, from its first slot on.
        last = slots[most - 1]
        skips = tuple(skip for skip in skips if skip.first < last)
        return _ahead(job, schedule, last, runs, skips)
    except InvalidCronExpression as error:
        return JobPlan(is_settled=True, error=one_line(error))
    except Exception as error:
        # Whatever one row holds, the others must go on.
        return JobPlan(is_settled=True, error=one_line(error, with_type=True))


def schedule_for(job: CronJobDefinition, rules: PlanningRules) -> CronSchedule:
    """Return the parsed schedule of ``job``; raise :class:`InvalidCronExpression`."""
    return CronSchedule.parse(
        job.cron_expression,
        job.time_zone or rules.time_zone,
        dst_gap=job.dst_gap,
        dst_fold=job.dst_fold,
        hash_id=job.job_id,
    )


def missed(
    job: CronJobDefinition,
    schedule: CronSchedule,
    after: datetime,
    now: datetime,
    rules: PlanningRules,
    pauses: Sequence[PausedSpan] = (),
) -> tuple[tuple[datetime, ...], tuple[Skip, ...]]:
    """Split the slots in ``(after, now]`` into those to run and those to skip, oldest first.

    Slots within ``pauses`` are skipped and count for no policy.
    """
    if job.starts_at is not None:
        after = max(after, aware_utc(job.starts_at) - _INSTANT)
    until = now if job.ends_at is None else min(now, aware_utc(job.ends_at))
    if until <= after:
        return (), ()
    oldest = now - _catch_up_window(job, rules) - _INSTANT
    parts = stretches(after, until, now, pauses) if pauses else ()
    if parts:
        slots = _newest_awake(schedule, parts, oldest, _wanted(job))
    else:
        slots = _newest(schedule, max(after, oldest), until, _wanted(job))
    if job.misfire_policy == MisfirePolicy.SKIP and slots and now - slots[-1] > _on_time(rules):
        slots = ()
    latest = slots[0] - _INSTANT if slots else until
    if parts:
        return slots, _skips_around(schedule, parts, latest)
    return slots, _skips(schedule, after, latest)


def _wanted(job: CronJobDefinition) -> int:
    """Return how many missed slots the job's policy wants run at most."""
    try:
        policy = MisfirePolicy(job.misfire_policy)
    except ValueError:
        choices = ", ".join(MisfirePolicy)
        raise ValueError(
            f"misfire_policy {job.misfire_policy!r} is unknown: use one of {choices}."
        ) from None
    return job.max_catch_up if policy is MisfirePolicy.FIRE_ALL else 1


def _newest(
    schedule: CronSchedule, after: datetime, until: datetime, wanted: int
) -> tuple[datetime, ...]:
    """Return the newest ``wanted`` slots in ``(after, until]``, oldest first."""
    newest_first: list[datetime] = []
    while until > after and len(newest_first) < wanted:
        slot = schedule.latest_at(until, after=after)
        if slot is None:
            break
        newest_first.append(slot)
        until = slot - _INSTANT
    return tuple(reversed(newest_first))


def _newest_awake(
    schedule: CronSchedule, parts: Sequence[Stretch], oldest: datetime, wanted: int
) -> tuple[datetime, ...]:
    """Return the newest ``wanted`` slots later than ``oldest`` in what was not paused."""
    slots: tuple[datetime, ...] = ()
    for after, until, is_paused in reversed(parts):
        if not is_paused:
            more = _newest(schedule, max(after, oldest), until, wanted - len(slots))
            slots = more + slots
    return slots


def _skips(
    schedule: CronSchedule,
    after: datetime,
    until: datetime,
    reason: SkipReason = SkipReason.MISFIRE,
    rows: int = _ROWS_PER_PASS,
) -> tuple[Skip, ...]:
    """Skip the slots in ``(after, until]``: in one row if they are more than ``rows``."""
    count = schedule.count_between(after, until) if until > after else 0
    if count > rows:
        last = schedule.latest_at(until)
        assert last is not None, "slots were counted up to here"
        return (Skip(schedule.next_after(after), last, count, reason),)
    if not count:
        return ()
    return tuple(Skip(slot, slot, 1, reason) for slot in schedule.between(after, until))


def _skips_around(
    schedule: CronSchedule, parts: Sequence[Stretch], latest: datetime
) -> tuple[Skip, ...]:
    """Skip what was paused and, as missed, what was not up to ``latest``; oldest first."""
    skips: tuple[Skip, ...] = ()
    for after, until, is_paused in parts:
        end, reason = (until, SkipReason.PAUSED) if is_paused else (latest, SkipReason.MISFIRE)
        rows = _ROWS_PER_PASS - len(skips)
        skips += _skips(schedule, after, min(until, end), reason, rows)
    return skips


def jitter(job: CronJobDefinition, schedule: CronSchedule, slot: datetime) -> timedelta:
    """Return how long the delivery of ``slot`` waits: up to ``jitter_seconds``, in whole seconds.

    The same in every replica, and never so long that the next slot would come first.
    """
    if not job.jitter_seconds:
        return timedelta(0)
    gap = int((schedule.next_after(slot) - slot).total_seconds())
    most = min(job.jitter_seconds, gap - 1)
    digest = blake2b(f"{job.job_id}:{int(slot.timestamp())}".encode(), digest_size=8).digest()
    return timedelta(seconds=int.from_bytes(digest) % (most + 1))


def without_overlap(plan: JobPlan, *, is_running: bool) -> JobPlan:
    """Return ``plan`` for a job that must not overlap itself.

    If a run is unfinished nothing is run, otherwise the oldest planned run only; the rest is
    recorded as skipped.
    """
    kept = plan.runs[: 0 if is_running else 1]
    slots = [run.scheduled_for for run in plan.runs[len(kept) :]]
    skips = [Skip(slot, slot, 1, SkipReason.OVERLAP) for slot in slots]
    if len(slots) > _ROWS_PER_PASS:
        skips = [Skip(slots[0], slots[-1], len(slots), SkipReason.OVERLAP)]
    return replace(plan, runs=kept, skips=(*plan.skips, *skips))


def _from_when(plan_from: datetime | None, now: datetime) -> datetime:
    """Return when an edit counts from: its own moment, also if this tick began before it.

    A moment far ahead was noted by a clock that has been set back since.
    """
    if plan_from is None or plan_from > now + _LONGEST_TICK:
        return now
    return plan_from


def _ahead(
    job: CronJobDefinition,
    schedule: CronSchedule,
    after: datetime,
    runs: tuple[PlannedRun, ...] = (),
    skips: tuple[Skip, ...] = (),
) -> JobPlan:
    if job.starts_at is not None:
        after = max(after, aware_utc(job.starts_at) - _INSTANT)
    upcoming = schedule.next_after(after)
    has_ended = job.ends_at is not None and upcoming > aware_utc(job.ends_at)
    return JobPlan(
        runs=runs,
        skips=skips,
        next_run_at=None if has_ended else upcoming,
        is_settled=has_ended,
        time_zone=schedule.time_zone,
    )


def _catch_up_window(job: CronJobDefinition, rules: PlanningRules) -> timedelta:
    window = rules.catch_up_window
    if job.catch_up_window_seconds is not None:
        window = timedelta(seconds=job.catch_up_window_seconds)
    # Or a slot would be too old before anybody could have looked at it.
    return max(window, _on_time(rules))


def _on_time(rules: PlanningRules) -> timedelta:
    return max(_MINUTE, 2 * rules.tick_interval)
