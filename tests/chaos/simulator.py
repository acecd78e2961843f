"""A whole deployment in virtual time: one store, its clock, and replicas that come and go.

Every await is a point where others get in, for a moment drawn from a seeded generator. Nothing else
is random and nothing waits for real, so the same seed takes the same course, on any machine.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from django_dyncron.core.claims import Horizon
from django_dyncron.core.definitions import CronJobDefinition
from django_dyncron.core.events import Event, TickFailed
from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.core.policies import RunStatus
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import InMemoryRepository
from django_dyncron.testing.rows import StoredRun
from tests.chaos.faults import CALM, Crash, Faults, Incarnation, Weather, incarnation
from tests.chaos.lock_server import LockServer, ServedLocks
from tests.chaos.queues import ForgetfulQueue, Mailbox, further_queues
from tests.chaos.virtual_time import run_virtually

START = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)
_LONGEST_SETTLING = 240
"""Minutes to wait after the last fault; what is in hand after that stays there."""
_MINUTE = 60.0

Actor = Callable[["Simulation"], Awaitable[None]]


class StoreClock:
    """The store's wall clock: the loop's time, and the steps somebody gave it."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._stepped = timedelta(0)

    def __call__(self) -> datetime:
        elapsed = timedelta(seconds=asyncio.get_running_loop().time())
        return self._start + self._stepped + elapsed

    def step(self, by: timedelta) -> None:
        self._stepped += by


class ReplicaClock:
    """The clock of one machine: wrong by ``skew``, and counting its seconds at its own ``rate``."""

    def __init__(self, store: StoreClock, skew: timedelta, since: float, rate: float) -> None:
        self._store = store
        self._skew = skew
        self._since = since
        self._rate = rate

    def now(self) -> datetime:
        return self._store() + self._skew

    def monotonic(self) -> float:
        return self._since + asyncio.get_running_loop().time() * self._rate

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(seconds, 0) / self._rate):
                await wake.wait()
        except TimeoutError:
            pass


class SimulatedStore(InMemoryRepository):
    """Judges by its own clock, as a database does, and keeps what is pruned for the inquest."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(clock=simulation.clock, checkpoint=simulation.weather.point)
        self.pruned: list[StoredRun] = []

    async def look_ahead(self, at: datetime | None) -> Horizon:
        return await super().look_ahead(None)

    async def prune(self, before: datetime, limit: int) -> int:
        known = dict(self.runs)
        pruned = await super().prune(before, limit)
        self.pruned += [known[run_id] for run_id in known.keys() - self.runs.keys()]
        return pruned


@dataclass
class Simulation:
    """``replicas`` schedulers over one store, for ``minutes``, and then until all is settled.

    ``options`` are those of :class:`DynamicScheduler`. ``actors`` run beside the replicas. Machines
    are wrong by up to ``skew`` seconds.
    """

    seed: int
    jobs: Sequence[CronJobDefinition]
    minutes: int
    replicas: int = 3
    faults: Faults = CALM
    start: datetime = START
    skew: float = 0.0
    has_locks: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    actors: Sequence[Actor] = ()
    store_class: Callable[[Simulation], SimulatedStore] = SimulatedStore
    queue_class: type[ForgetfulQueue] = ForgetfulQueue

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.weather = Weather(self.random)
        self.clock = StoreClock(self.start)
        self.mailbox = Mailbox()
        self.lock_server = LockServer()
        self.store = self.store_class(self)
        self.crashes = 0
        self.surprises: list[BaseException] = []
        self._is_over = False
        self._schedulers: dict[int, DynamicScheduler] = {}

    @property
    def runs(self) -> list[StoredRun]:
        """Every run row there ever was."""
        return [*self.store.pruned, *self.store.runs.values()]

    @property
    def elapsed(self) -> float:
        return asyncio.get_running_loop().time()

    def run(self) -> Simulation:
        """Live it through and return it, to be judged."""
        state = random.getstate()
        random.seed(self.seed)  # back-off and retries draw from the module's generator
        try:
            run_virtually(self._main())
        finally:
            random.setstate(state)
        return self

    async def _main(self) -> None:
        last_slot = self.start + timedelta(minutes=self.minutes)
        self.store.add(*(replace(job, ends_at=job.ends_at or last_slot) for job in self.jobs))
        lives = [asyncio.ensure_future(self._live(number)) for number in range(self.replicas)]
        acts = [asyncio.ensure_future(act(self)) for act in self.actors]
        self.weather.faults = self.faults
        await asyncio.sleep(self.minutes * _MINUTE)
        self.weather.faults = CALM
        await asyncio.gather(*acts)
        await self._settle()
        self._is_over = True
        for scheduler in self._schedulers.values():
            scheduler.stop()
        await asyncio.gather(*lives)
        assert not self.surprises, self.surprises[:3]

    async def _live(self, number: int) -> None:
        life = 0
        while not self._is_over:
            life += 1
            name = f"replica-{number}.{life}"
            incarnation.set(Incarnation(name))
            scheduler = self._schedulers[number] = self._scheduler(name)
            try:
                await scheduler.start()
            except Crash:
                self.crashes += 1
                await asyncio.sleep(self.random.uniform(0, 5))

    def _scheduler(self, name: str) -> DynamicScheduler:
        clock = ReplicaClock(
            self.clock,
            skew=timedelta(seconds=self.random.uniform(-self.skew, self.skew)),
            since=self.random.uniform(0, 1e6),
            rate=self.random.uniform(0.999, 1.001) if self.skew else 1.0,
        )
        of_queue = (self.mailbox, self.weather, self.clock)
        options = {"batch_size": 25, **self.options}
        return DynamicScheduler(
            self.store,
            self.queue_class(*of_queue),
            ServedLocks(self.lock_server, self.weather) if self.has_locks else None,
            enqueuers=further_queues(*of_queue),
            replica_id=name,
            clock=clock,
            observers=[self._observe],
            **options,
        )

    def _observe(self, event: Event) -> None:
        """Keep the errors that no fault explains; the loop would only try again."""
        if isinstance(event, TickFailed) and not isinstance(event.error, (StoreUnavailable, Crash)):
            self.surprises.append(event.error)

    async def _settle(self) -> None:
        """Wait until nothing is due, planned anew, in anybody's hands or in a worker's."""
        await asyncio.sleep(_MINUTE)
        for _ in range(_LONGEST_SETTLING):
            if not self._is_unsettled():
                return
            await asyncio.sleep(_MINUTE)

    def _is_unsettled(self) -> bool:
        now = self.clock()
        return (
            bool(self.mailbox.at_work)
            or any(
                stored.status in (RunStatus.CLAIMED, RunStatus.RUNNING)
                for stored in self.store.runs.values()
            )
            or any(
                row.needs_planning or (row.due_at is not None and row.due_at <= now)
                for row in self.store.rows.values()
            )
        )
