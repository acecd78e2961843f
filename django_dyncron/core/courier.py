"""The courier: hands runs to their queues and decides what each answer means."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from .attempts import failed
from .claims import Savepoint
from .definitions import Run
from .observers import Observers, isolated
from .policies import Delivery, RunStatus
from .ports import Clock, IRunJournal, ITaskEnqueuer
from .runs import Attempt, Outcome, Record
from .text import one_line

LEASE = timedelta(seconds=60)
"""How long a claimed run belongs to the replica that claimed it."""
_SENDING = timedelta(seconds=40)
"""No message leaves later than this after its claim: well before the lease ends."""
_LAST_WORDS = timedelta(seconds=2)
"""How long after that an enqueuer is listened to."""
_FIRST_RETRY = timedelta(seconds=30)
_LAST_RETRY = timedelta(seconds=300)


class Courier:
    """Delivers runs to ``enqueuers`` by name; the blank name is ``"default"``."""

    def __init__(
        self,
        enqueuers: Mapping[str, ITaskEnqueuer],
        *,
        catch_up_window: timedelta,
        clock: Clock,
        observers: Observers,
    ) -> None:
        self._enqueuers = enqueuers
        self._observers = observers
        self._catch_up_window = catch_up_window
        self._clock = clock

    def starting_once(self) -> frozenset[str]:
        """Return the names of the enqueuers that start a run by its row."""
        names = {name for name, enqueuer in self._enqueuers.items() if enqueuer.starts_once}
        return frozenset(names | {""} if "default" in names else names)

    def bind(self, journal: IRunJournal) -> None:
        for enqueuer in self._enqueuers.values():
            enqueuer.bind(journal)

    def in_hand(self) -> list[Run]:
        """Return the runs that pools of this process have accepted and not finished."""
        return [run for enqueuer in self._enqueuers.values() for run in enqueuer.in_hand()]

    async def deliver(self, runs: Sequence[Run], claimed_at: float) -> list[Attempt]:
        """Hand ``runs`` over, claimed at the monotonic instant ``claimed_at``.

        One attempt a run, whatever the enqueuers do: raise, hang, or answer too little.
        """
        ends_at = claimed_at + _SENDING.total_seconds()
        # Side by side: one queue that hangs must not hold up another.
        answers = await asyncio.gather(
            *(
                self._deliver_group(name, group, ends_at)
                for name, group in _by_enqueuer(runs).items()
            )
        )
        return [attempt for group in answers for attempt in group]

    async def _deliver_group(self, name: str, runs: list[Run], ends_at: float) -> list[Attempt]:
        enqueuer = self._enqueuers.get(name)
        if enqueuer is None:
            known = ", ".join(sorted(self._enqueuers))
            error = f"There is no enqueuer named {name!r}: use one of {known}."
            return [Attempt(run, Outcome.REFUSED, error=error) for run in runs]
        leave = _Leave(self._clock, ends_at)
        if not leave.is_given():
            return [Attempt(run, Outcome.UNTRIED) for run in runs]
        unheard = "the enqueuer did not say what became of it"
        answers: dict[UUID, Attempt] = {}
        try:
            # A little longer than it may send, so that it can say itself what it did not send.
            async with asyncio.timeout(leave.seconds_left() + _LAST_WORDS.total_seconds()):
                for attempt in await enqueuer.enqueue_runs(runs, leave):
                    answers[attempt.run.run_id] = attempt
        except TimeoutError:
            if not leave.was_given:
                return [Attempt(run, Outcome.UNTRIED) for run in runs]
            unheard = "the enqueuer did not answer in time"
        except Exception as error:
            unheard = one_line(error, with_type=True)
        return [
            answers.get(run.run_id) or Attempt(run, Outcome.UNCERTAIN, error=unheard)
            for run in runs
        ]

    def deliver_inside(
        self, runs: Sequence[Run], using: str, savepoint: Savepoint, at: datetime
    ) -> list[Record]:
        """Hand runs to the queues that join the open transaction; leave the others alone.

        All runs of a queue go in one savepoint. If one of them spoils it, each gets its own.
        """
        records: list[Record | None] = []
        for name, group in _by_enqueuer(runs).items():
            enqueuer = self._enqueuers.get(name)
            if enqueuer is not None and enqueuer.transaction_alias() == using:
                records += [
                    self.judge(attempt, at) for attempt in _enqueue_now(enqueuer, group, savepoint)
                ]
        return [record for record in records if record is not None]

    def judge(self, attempt: Attempt, now: datetime) -> Record | None:
        """Return what to write about ``attempt``; ``None`` if a local pool will report on it."""
        run = attempt.run
        match attempt.outcome:
            case Outcome.STARTED_HERE:
                return None
            case Outcome.ENQUEUED:
                return Record(run, RunStatus.ENQUEUED, task_id=attempt.task_id, enqueued_at=now)
            case Outcome.UNTRIED:
                return Record(run, RunStatus.CLAIMED, lease_until=now, is_given_back=True)
            case Outcome.REFUSED:
                return Record(run, RunStatus.FAILED, error=attempt.error, finished_at=now)
        if attempt.outcome is Outcome.UNCERTAIN and run.delivery == Delivery.AT_MOST_ONCE:
            return Record(run, RunStatus.UNKNOWN, error=attempt.error, finished_at=now)
        retry_at = now + _pause_after(run.attempts)
        if retry_at > self._gives_up_at(run, now):
            return Record(run, RunStatus.FAILED, error=attempt.error, finished_at=now)
        is_unsent = attempt.outcome is Outcome.NOT_SENT
        return Record(
            run,
            RunStatus.CLAIMED,
            error=attempt.error,
            lease_until=retry_at,
            is_given_back=is_unsent,
        )

    def _gives_up_at(self, run: Run, now: datetime) -> datetime:
        window = self._catch_up_window
        if run.catch_up_window_seconds is not None:
            window = timedelta(seconds=run.catch_up_window_seconds)
        return (run.scheduled_for or run.created_at or now) + window

    def withdraw(self) -> list[Run]:
        """Stop the local pools from starting anything; return what they had not started."""
        return [run for enqueuer in self._enqueuers.values() for run in enqueuer.withdraw()]

    async def drain(self, grace: timedelta) -> list[Run]:
        """Wait for the local pools; return the runs that are still executing."""
        answers = await asyncio.gather(
            *(
                isolated("draining an enqueuer", enqueuer.drain(grace), self._observers)
                for enqueuer in self._enqueuers.values()
            )
        )
        return [run for runs in answers for run in runs or ()]

    async def aclose(self) -> None:
        for enqueuer in self._enqueuers.values():
            await isolated("closing an enqueuer", enqueuer.aclose(), self._observers)


class _Leave:
    """The leave to send: asked before each message, given until the lease nears its end."""

    def __init__(self, clock: Clock, ends_at: float) -> None:
        self._clock = clock
        self._ends_at = ends_at
        self.was_given = False
        """Whether anybody who asked may have sent something."""

    def __call__(self) -> bool:
        is_given = self.is_given()
        self.was_given = self.was_given or is_given
        return is_given

    def is_given(self) -> bool:
        return self.seconds_left() > 0

    def seconds_left(self) -> float:
        return self._ends_at - self._clock.monotonic()


def _by_enqueuer(runs: Sequence[Run]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.enqueuer or "default", []).append(run)
    return groups


def _enqueue_now(
    enqueuer: ITaskEnqueuer, runs: Sequence[Run], savepoint: Savepoint
) -> list[Attempt]:
    try:
        return _enqueue_together(enqueuer, runs, savepoint)
    except Exception:
        return [_enqueue_alone(enqueuer, run, savepoint) for run in runs]


def _enqueue_alone(enqueuer: ITaskEnqueuer, run: Run, savepoint: Savepoint) -> Attempt:
    try:
        return _enqueue_together(enqueuer, [run], savepoint)[0]
    except Exception as error:
        return failed(run, error)


def _enqueue_together(
    enqueuer: ITaskEnqueuer, runs: Sequence[Run], savepoint: Savepoint
) -> list[Attempt]:
    with savepoint():
        task_ids = enqueuer.enqueue_runs_now(runs)
        return [
            Attempt(run, Outcome.ENQUEUED, task_id=task_id)
            for run, task_id in zip(runs, task_ids, strict=True)
        ]


def _pause_after(attempts: int) -> timedelta:
    """Return how long to wait before the next attempt: none, then 30 s doubling to 300 s.

    Each pause is shortened by up to a fifth, so that the runs of a broken queue spread out.
    """
    if attempts <= 1:
        return timedelta(0)
    pause = min(_FIRST_RETRY * float(2 ** min(attempts - 2, 8)), _LAST_RETRY)
    return pause * random.uniform(0.8, 1)  # noqa: S311
