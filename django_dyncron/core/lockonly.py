"""A tick over a two-method repository, where the lock is the only record of a slot.

What this can promise is less than a durable claim: a slot is run once while the lock store keeps
its keys and clocks agree, and a slot missed for longer than a lock lives is not made up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

from .courier import LEASE
from .definitions import CronJobDefinition, Run, Slot
from .events import JobBroken, RunEnqueued, RunFailed, SignOfLife, TickResult
from .parts import Parts
from .planning import missed, schedule_for
from .policies import Delivery, RunStatus
from .ports import ICronJobRepository
from .runs import Attempt, Outcome
from .text import one_line
from .upkeep import BEAT_SECONDS

_INSTANT = timedelta(microseconds=1)
_CHUNK = 50
"""Slots locked together: few enough that their locks outlive their delivery."""
_SKEW = timedelta(minutes=1)
"""A last run noted further ahead than this cannot be true and is not believed."""


class LockOnlyTick:
    """Evaluates a repository that only lists jobs and notes their last run."""

    def __init__(self, repository: ICronJobRepository, parts: Parts, ttl_seconds: int) -> None:
        self._repository = repository
        self._parts = parts
        self._ttl = timedelta(seconds=ttl_seconds)
        self._previous: datetime | None = None
        self._owed: dict[str, datetime] = {}
        self._unsent: dict[Slot, tuple[Run, str]] = {}
        self._next_due_at: datetime | None = None
        self._beats_at = 0.0

    async def run(self, is_stopping: Callable[[], bool]) -> TickResult:
        """Run the slots since the previous tick, each if its lock can be taken."""
        began = self._parts.clock.monotonic()
        now = self._parts.clock.now()
        counts: Counter[str] = Counter()
        jobs = await self._repository.get_active_jobs()
        self._forget_old_debts(now, jobs)
        self._next_due_at = None
        due = [pair for job in jobs for pair in self._plan(job, now, counts)]
        self._previous = now
        for start in range(0, len(due), _CHUNK):
            chunk = due[start : start + _CHUNK]
            if is_stopping():
                self._owe(slot for _, slot in chunk)
            else:
                await self._deliver(chunk, now, counts)
                self._parts.pulse.steps += 1
                await self.keep_alive()
        return TickResult(
            at=now,
            next_due_at=self._next_due_at,
            took=timedelta(seconds=self._parts.clock.monotonic() - began),
            **counts,
        )

    def seconds_to_next(self, result: TickResult) -> float:
        """Return how soon the next known slot comes."""
        if result.next_due_at is None:
            return float("inf")
        return max((result.next_due_at - self._parts.clock.now()).total_seconds(), 0.0)

    async def close(self, grace: timedelta) -> int:
        """Wait for the local pools; return how many runs were given up."""
        self._parts.courier.withdraw()
        return len(await self._parts.courier.drain(grace))

    async def keep_alive(self) -> None:
        """Give a sign of life to observers, if it is time: there is no store that takes one."""
        instant = self._parts.clock.monotonic()
        if instant >= self._beats_at:
            self._beats_at = instant + BEAT_SECONDS
            self._parts.observers.tell(SignOfLife(self._parts.clock.now()))

    def seconds_to_beat(self) -> float:
        """Return how long until :meth:`keep_alive` has something to do."""
        return self._beats_at - self._parts.clock.monotonic()

    # --- planning -------------------------------------------------------------------------------

    def _plan(
        self, job: CronJobDefinition, now: datetime, counts: Counter[str]
    ) -> Iterator[tuple[CronJobDefinition, Slot]]:
        try:
            if not job.is_active:
                return
            rules = self._parts.rules
            schedule = schedule_for(job, rules)
            runs, _ = missed(job, schedule, self._after(job, now), now, rules)
            slots = [Slot(job.job_id, moment) for moment in runs]
            upcoming = schedule.next_after(now)
        except Exception as error:
            job_id = str(getattr(job, "job_id", job))
            counts["broken"] += 1
            self._parts.observers.tell(JobBroken(job_id, one_line(error)))
            return
        counts["planned"] += 1
        if self._next_due_at is None or upcoming < self._next_due_at:
            self._next_due_at = upcoming
        yield from ((job, slot) for slot in slots)

    def _after(self, job: CronJobDefinition, now: datetime) -> datetime:
        """Return the instant after which slots of ``job`` count as not yet run."""
        this_minute = now.replace(second=0, microsecond=0) - _INSTANT
        after = self._previous or this_minute
        last_run_at = job.last_run_at
        if last_run_at is not None and last_run_at <= now + _SKEW:
            horizon = self._ttl - 2 * self._parts.rules.tick_interval
            window = self._parts.rules.catch_up_window
            if job.catch_up_window_seconds is not None:
                window = timedelta(seconds=job.catch_up_window_seconds)
            reach = max(min(horizon, window), timedelta(0))
            after = max(min(after, max(last_run_at, now - reach)), last_run_at)
        owed = self._owed.get(job.job_id)
        if owed is None or (last_run_at is not None and last_run_at >= owed):
            return after
        return min(after, owed - _INSTANT)

    # --- delivery -------------------------------------------------------------------------------

    async def _deliver(
        self, due: list[tuple[CronJobDefinition, Slot]], now: datetime, counts: Counter[str]
    ) -> None:
        gate = self._parts.gate
        instant = self._parts.clock.monotonic()
        jobs = {slot: job for job, slot in due}
        admitted = set(jobs) if gate is None else await gate.admit(list(jobs))
        counts["refused"] += len(jobs) - len(admitted)
        prefix = self._parts.key_prefix
        runs = [
            Run.of(jobs[slot], slot.scheduled_for, prefix=prefix, at=now, lease=LEASE)
            for slot in jobs
            if slot in admitted
        ]
        failed: set[Slot] = set()
        for attempt in await self._parts.courier.deliver(runs, instant):
            slot = Slot(attempt.run.job_id, attempt.run.scheduled_for or now)
            if not await self._settle(attempt, slot, now, counts):
                failed.add(slot)
        if gate is not None:
            await gate.release(failed)
            gate.forget()

    async def _settle(
        self, attempt: Attempt, slot: Slot, now: datetime, counts: Counter[str]
    ) -> bool:
        """Note what became of one run; return whether its lock must stay."""
        run = attempt.run
        counts["claimed"] += 1
        if attempt.outcome in (Outcome.ENQUEUED, Outcome.STARTED_HERE):
            counts["enqueued"] += 1
            self._owed.pop(slot.job_id, None)
            self._unsent.pop(slot, None)
            if attempt.outcome is Outcome.ENQUEUED:
                self._parts.observers.tell(RunEnqueued(run, now, attempt.task_id))
            await self._note_last_run(run, now)
            return True
        counts["failed"] += 1
        if attempt.outcome is Outcome.UNCERTAIN and run.delivery == Delivery.AT_MOST_ONCE:
            # It may be in the queue: the lock stays, so that nobody sends it again.
            self._parts.observers.tell(RunFailed(run, attempt.error, status=RunStatus.UNKNOWN))
            return True
        is_final = attempt.outcome is Outcome.REFUSED
        if not is_final:
            self._owe([slot])
            self._unsent[slot] = run, attempt.error
        self._parts.observers.tell(RunFailed(run, attempt.error, None if is_final else now))
        return False

    async def _note_last_run(self, run: Run, now: datetime) -> None:
        # The tick's instant, not the present one: slots up to the former have been judged.
        try:
            await self._repository.update_last_run(run.job_id, now)
        except Exception as error:
            self._parts.observers.tell(JobBroken(run.job_id, one_line(error, with_type=True)))

    def _owe(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            owed = self._owed.get(slot.job_id, slot.scheduled_for)
            self._owed[slot.job_id] = min(owed, slot.scheduled_for)

    def _forget_old_debts(self, now: datetime, jobs: Iterable[CronJobDefinition]) -> None:
        # A lock another replica took for such a slot may have expired: retrying could run it twice.
        self._owed = {job_id: slot for job_id, slot in self._owed.items() if now < slot + self._ttl}
        old = {slot for slot in self._unsent if now >= slot.scheduled_for + self._ttl}
        if not old:
            return
        last_runs = {job.job_id: job.last_run_at for job in jobs}
        for slot in old:
            run, error = self._unsent.pop(slot)
            last_run_at = last_runs.get(slot.job_id)
            if last_run_at is None or last_run_at < slot.scheduled_for:
                self._parts.observers.tell(RunFailed(run, error))
