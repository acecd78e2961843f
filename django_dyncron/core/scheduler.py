"""The scheduler: a loop around a tick, and the ways to stop it."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from .clock import StoreTime, SystemClock
from .courier import Courier
from .durable import DurableTick
from .events import SchedulerStarted, SchedulerStopped, TickFailed, TickResult
from .gate import LockGate
from .journal import DurableJournal, UnkeptJournal
from .lock_options import lock_ttl, on_error_policy
from .lockonly import LockOnlyTick
from .observers import Observers, isolated
from .parts import Parts
from .planning import PlanningRules
from .ports import (
    Clock,
    ICronJobRepository,
    IDurableCronJobRepository,
    ILockProvider,
    IRunJournal,
    ITaskEnqueuer,
    Observer,
)
from .pulse import Pulse

__all__ = ["DynamicScheduler", "TickResult"]

_LONGEST_BACK_OFF_SECONDS = 30.0
_SETTLING_SECONDS = 0.05


class DynamicScheduler:
    """Runs the cron jobs of ``repository`` by handing each due run to ``enqueuer``.

    Any number of schedulers may share one repository. ``tick_interval_seconds`` bounds how late
    an edit is noticed; a due run is not delayed by it.

    Keyword arguments: ``enqueuers``, further queues by name, ``enqueuer`` being ``"default"``;
    ``time_zone``, of jobs that name none; ``catch_up_window_seconds``, beyond which a missed slot
    is not made up; ``lock_ttl_seconds``, by default the larger of 60 and two ticks;
    ``on_lock_error``, ``"skip"`` or ``"claim"``, by default ``"claim"`` if the repository claims
    durably; ``key_prefix``, the same in all replicas; ``replica_id``, unlike that of any other;
    ``shutdown_grace_seconds``, how long running local tasks are waited for; ``batch_size``, jobs
    claimed together; ``run_retention_days``, after which runs are deleted (default: never);
    ``clock``, to judge by instead of the store's; ``observers``, called with each event.

    Raises :class:`ValueError` for a number or a policy that makes no sense.
    """

    def __init__(
        self,
        repository: ICronJobRepository,
        enqueuer: ITaskEnqueuer,
        lock_provider: ILockProvider | None = None,
        tick_interval_seconds: float = 30,
        *,
        enqueuers: Mapping[str, ITaskEnqueuer] | None = None,
        time_zone: str = "UTC",
        catch_up_window_seconds: float = 86_400,
        lock_ttl_seconds: int | None = None,
        on_lock_error: str | None = None,
        key_prefix: str = "dyncron",
        replica_id: str | None = None,
        shutdown_grace_seconds: float = 25,
        batch_size: int = 500,
        run_retention_days: float | None = None,
        clock: Clock | None = None,
        observers: Iterable[Observer] = (),
    ) -> None:
        if not tick_interval_seconds > 0:
            raise ValueError(f"tick_interval_seconds must be above 0, not {tick_interval_seconds}.")
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}.")
        ttl_seconds = lock_ttl(lock_ttl_seconds, tick_interval_seconds)
        is_durable = isinstance(repository, IDurableCronJobRepository)
        self.replica_id = replica_id or _new_replica_id()
        self.pulse = Pulse()
        """What the loop is at; see :mod:`django_dyncron.core.pulse`."""
        self.unfinished_runs = 0
        """How many local runs were given up when the scheduler stopped."""
        self._interval = float(tick_interval_seconds)
        self._grace = timedelta(seconds=shutdown_grace_seconds)
        self._clock = clock or SystemClock()
        self._observers = Observers(observers)
        self._stop_requested = False
        self._failures = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: asyncio.Event | None = None
        time = StoreTime(self._clock)
        rules = PlanningRules(
            time_zone=time_zone,
            tick_interval=timedelta(seconds=tick_interval_seconds),
            catch_up_window=timedelta(seconds=catch_up_window_seconds),
        )
        courier = Courier(
            {**(enqueuers or {}), "default": enqueuer},
            catch_up_window=rules.catch_up_window,
            clock=self._clock,
            observers=self._observers,
        )
        on_error = on_error_policy(on_lock_error, is_durable)
        gate: LockGate | None = None
        if lock_provider is not None:
            gate = LockGate(
                lock_provider.within_claims() if is_durable else lock_provider,
                key_prefix=key_prefix,
                ttl_seconds=ttl_seconds,
                on_error=on_error,
                clock=self._clock,
                observers=self._observers,
            )
        parts = Parts(
            courier=courier,
            gate=gate,
            clock=self._clock,
            time=time,
            judges_by=None if clock is None else clock.now,
            rules=rules,
            key_prefix=key_prefix,
            replica_id=self.replica_id,
            batch_size=batch_size,
            retention=None if run_retention_days is None else timedelta(days=run_retention_days),
            observers=self._observers,
            pulse=self.pulse,
        )
        self._courier = courier
        self._gate = gate
        self._tick: DurableTick | LockOnlyTick
        journal: IRunJournal
        if isinstance(repository, IDurableCronJobRepository):
            self._tick = DurableTick(repository, parts)
            journal = DurableJournal(repository, self.replica_id, time, self._observers)
        else:
            self._tick = LockOnlyTick(repository, parts, ttl_seconds)
            journal = UnkeptJournal(time, self._observers)
        courier.bind(journal)

    async def tick(self) -> TickResult:
        """Evaluate once, without waiting: plan, claim, enqueue and record all that is due.

        Raises what the repository raises; no error of a single job or run gets this far.
        """
        result = await self._tick.run(self._is_stopping)
        self._observers.tell(result)
        return result

    async def start(self, *, max_ticks: int | None = None) -> None:
        """Tick until :meth:`stop`, then wait for local runs to end; return after that.

        After ``max_ticks``, if given, it ends by itself once nothing is left in a local pool.

        An error ends the tick, never the loop: it is told to observers and tried again, later and
        later. If this coroutine is cancelled, the batch in hand is finished first.
        """
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        self._observers.tell(SchedulerStarted(self.replica_id))
        try:
            while not self._is_stopping() and max_ticks != 0:
                pause = await self._tick_and_judge()
                max_ticks = None if max_ticks is None else max_ticks - 1
                if not self._is_stopping() and max_ticks != 0:
                    await self._rest(self._wake, pause)
            self.pulse.tick = None
            await self._settle()
        finally:
            self.pulse.tick = None
            await self._wind_down()

    async def deliver(self, run_id: UUID) -> None:
        """Deliver a run that was recorded for this replica; look at no cron job, tick not once.

        Returns when its queue has answered or, of a local pool, when the task has ended. After
        :meth:`stop` that is waited for no longer than the grace. Called instead of :meth:`start`.
        Raises what the repository raises, and :class:`TypeError` if that keeps no runs.
        """
        if not isinstance(self._tick, DurableTick):
            raise TypeError("The repository keeps no runs.")
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        try:
            task = asyncio.ensure_future(self._tick.deliver(run_id))
            await _finished(task)
            task.result()
            await self._settle()
        finally:
            self.unfinished_runs = await self._tick.close(self._grace)

    def stop(self) -> None:
        """Ask :meth:`start` to return after the batch in hand.

        May be called more than once, from a signal handler, from another thread, or before
        :meth:`start`, which then returns at once.
        """
        self._stop_requested = True
        if self._loop is not None and self._wake is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake.set)

    async def aclose(self) -> None:
        """Close the enqueuers and the lock provider. Called once, when the scheduler is done."""
        await self._courier.aclose()
        if self._gate is not None:
            await isolated("closing the lock provider", self._gate.aclose(), self._observers)

    def _is_stopping(self) -> bool:
        return self._stop_requested

    async def _tick_and_judge(self) -> float:
        """Tick; return how many seconds to wait before the next one."""
        began = self._clock.monotonic()
        try:
            result = await self._uninterrupted_tick()
        except Exception as error:
            self._failures += 1
            pause = _back_off(self._failures)
            self._observers.tell(TickFailed(error, timedelta(seconds=pause)))
            return pause
        self._failures = 0
        rest = self._interval - (self._clock.monotonic() - began)
        return max(min(self._tick.seconds_to_next(result), rest), 0.0)

    async def _uninterrupted_tick(self) -> TickResult:
        """Tick; a cancellation is heeded only after the batch in hand."""
        self.pulse.tick = task = asyncio.ensure_future(self.tick())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._stop_requested = True
            await _finished(task)
            raise

    async def _rest(self, wake: asyncio.Event, seconds: float) -> None:
        """Wait for the next tick; if that takes long, give signs of life meanwhile.

        Without a tick: the interval is what its user wanted between two looks at the jobs.
        """
        ends_at = self._clock.monotonic() + seconds
        while not self._is_stopping():
            left = ends_at - self._clock.monotonic()
            to_beat = left if self._failures else self._tick.seconds_to_beat()
            await self._clock.wait(wake, min(left, max(to_beat, 0.0)))
            if self._is_stopping() or to_beat >= left:
                return
            await self._tick.keep_alive()
            self.pulse.steps += 1

    async def _settle(self) -> None:
        """Wait until the local pools have nothing left, or somebody says stop."""
        assert self._wake is not None
        while self._courier.in_hand() and not self._is_stopping():
            await self._tick.keep_alive()
            await self._clock.wait(self._wake, _SETTLING_SECONDS)

    async def _wind_down(self) -> None:
        task = asyncio.ensure_future(self._tick.close(self._grace))
        await _finished(task)
        if (error := task.exception()) is not None:
            self._observers.tell(TickFailed(error, timedelta(0)))
        else:
            self.unfinished_runs = task.result()
        self._observers.tell(SchedulerStopped(self.replica_id, self.unfinished_runs))


async def _finished(task: asyncio.Future[Any]) -> None:
    """Return when ``task`` is done, however often the caller is cancelled meanwhile."""
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue


def _back_off(failures: int) -> float:
    """Return a pause in seconds: up to 1, 2, 4 … 30, at least half of that."""
    longest = min(2.0 ** min(failures - 1, 9), _LONGEST_BACK_OFF_SECONDS)
    return longest * random.uniform(0.5, 1)  # noqa: S311


def _new_replica_id() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
