"""Every interleaving of two replicas: step by step, in each possible order, one crash each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django_dyncron.core.definitions import CronJobDefinition
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import InMemoryRepository
from django_dyncron.testing.tables import Tables
from tests.chaos.faults import Crash, Incarnation, incarnation
from tests.chaos.lock_server import LockServer, ServedLocks
from tests.chaos.queues import ForgetfulQueue, Mailbox, further_queues
from tests.chaos.simulator import ReplicaClock, StoreClock
from tests.chaos.virtual_time import run_virtually

CREATED = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)
NOW = datetime(2026, 11, 30, 12, 2, 30, tzinfo=UTC)
_LEASE = 61.0

FEWEST_STEPS = frozenset({"select", "claimed"})
FEW_STEPS = FEWEST_STEPS | {"lock", "record"}
ALL_STEPS = FEW_STEPS | {"ask", "commit", "send"}


@dataclass
class Turns:
    """Holds every replica at each of ``steps`` until it is told to go on, or to die."""

    steps: frozenset[str]
    is_open: bool = False
    waiting: dict[str, asyncio.Future[None]] = field(default_factory=dict)

    async def point(self, label: str) -> None:
        me = incarnation.get()
        if me.is_dead:
            raise Crash
        if self.is_open or label not in self.steps:
            return
        turn = self.waiting[me.name] = asyncio.get_running_loop().create_future()
        await turn
        if me.is_dead:
            raise Crash

    def lock_server_fails(self) -> bool:
        return False


@dataclass(frozen=True)
class Case:
    """What the replicas race for, where they can be held up, and on what kind of tables."""

    jobs: Sequence[CronJobDefinition]
    batch_size: int
    steps: frozenset[str] = ALL_STEPS
    tables: Callable[[], Tables] = Tables


class Course:
    """One order of steps. ``chosen`` are the moves taken, ``offered`` how many there were."""

    def __init__(self, case: Case) -> None:
        self.turns = Turns(case.steps)
        self.clock = StoreClock(CREATED)
        self.mailbox = Mailbox()
        self.server = LockServer()
        self.store = InMemoryRepository(self.clock, self.turns.point, case.tables())
        self.chosen: list[int] = []
        self.offered: list[int] = []
        self.crashes = 0
        self._case = case

    async def take(self, script: Sequence[int]) -> None:
        """Plan the jobs; let two replicas race as ``script`` says; let a third clear up."""
        self.store.add(*self._case.jobs)
        self.turns.is_open = True
        await self._tick(Incarnation("planner"))
        self.clock.step(NOW - CREATED)
        self.turns.is_open = False
        replicas = [Incarnation("first"), Incarnation("second")]
        ticks = [asyncio.ensure_future(self._tick(replica)) for replica in replicas]
        while moves := await self._moves(replicas, ticks):
            move = script[len(self.chosen)] if len(self.chosen) < len(script) else 0
            self.chosen.append(move)
            self.offered.append(len(moves))
            replica, dies = moves[move]
            replica.is_dead = dies
            self.crashes += dies
            self.turns.waiting.pop(replica.name).set_result(None)
        for tick in ticks:
            tick.result()
        self.turns.is_open = True
        for _ in range(3):  # it works in batches of one
            await asyncio.sleep(_LEASE)
            await self._tick(Incarnation("third"))

    async def _moves(
        self, replicas: list[Incarnation], ticks: list[asyncio.Task[None]]
    ) -> list[tuple[Incarnation, bool]]:
        """Return who may go on, or die, once all that live stand still."""
        while not self._stand_still(replicas, ticks):  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0)
        waiting = [replica for replica in replicas if replica.name in self.turns.waiting]
        return [(replica, dies) for replica in waiting for dies in (False, True)]

    def _stand_still(self, replicas: list[Incarnation], ticks: list[asyncio.Task[None]]) -> bool:
        return all(
            tick.done() or replica.name in self.turns.waiting
            for replica, tick in zip(replicas, ticks, strict=True)
        )

    async def _tick(self, replica: Incarnation) -> None:
        incarnation.set(replica)
        of_queue: Any = (self.mailbox, self.turns, self.clock)
        scheduler = DynamicScheduler(
            self.store,
            ForgetfulQueue(*of_queue),
            ServedLocks(self.server, self.turns),  # type: ignore[arg-type]
            enqueuers=further_queues(*of_queue),
            replica_id=replica.name,
            clock=ReplicaClock(self.clock, timedelta(0), since=0.0, rate=1.0),
            batch_size=self._case.batch_size,
        )
        try:
            await scheduler.tick()
        except Crash:
            return


def every_course(case: Case) -> Iterator[Course]:
    """Yield each possible course to its end: depth first, the last choice changed first."""
    script: list[int] | None = []
    while script is not None:
        course = Course(case)
        run_virtually(course.take(script))
        yield course
        script = _next_script(course)


def _next_script(course: Course) -> list[int] | None:
    script = list(course.chosen)
    while script:
        if script[-1] + 1 < course.offered[len(script) - 1]:
            script[-1] += 1
            return script
        script.pop()
    return None
