"""What goes wrong in a simulation: how often, and what it does to the replica it strikes."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from zlib import crc32

from django_dyncron.core.exceptions import EnqueueError, StoreUnavailable


class Crash(BaseException):
    """The process is gone. No ``except Exception`` may catch it, and what follows is not run."""


@dataclass(frozen=True)
class Faults:
    """How likely each fault is at each labelled point, and how long pauses are (seconds).

    ``stall`` freezes the whole replica for up to ``longest_stall``; ``disconnect`` cuts it off from
    the store before or after the store acted; ``lock_error`` strikes the lock server only;
    ``no_answer`` keeps a queue from answering, whether or not the message arrived. A ``crash``
    comes at any label, or only at those of ``crash_at``.
    """

    crash: float = 0.0
    stall: float = 0.0
    disconnect: float = 0.0
    lock_error: float = 0.0
    longest_stall: float = 300.0
    latency: float = 0.002
    no_answer: float = 0.0
    crash_at: frozenset[str] = frozenset()


CALM = Faults()

STORE_LABELS = frozenset({"look", "select", "lock", "commit", "claimed", "record", "recorded"})


@dataclass
class Incarnation:
    """One life of a replica, from its start to its crash."""

    name: str
    is_dead: bool = False
    is_worker: bool = False
    """Whether this is a worker of a queue, which nothing strikes here."""


incarnation: ContextVar[Incarnation] = ContextVar("incarnation")
"""Who is running: set at the root of each replica's task and inherited by what it starts."""


@dataclass
class Weather:
    """Strikes at labelled points, by a seeded choice. ``trace`` hashes all that happened."""

    random: Random
    faults: Faults = CALM
    struck: int = 0
    points: int = 0
    labels: set[str] = field(default_factory=set)
    trace: int = 0

    async def point(self, label: str) -> None:
        """Let others get in, and let happen here what must happen."""
        me = incarnation.get()
        if me.is_dead:
            raise Crash
        self._note(me, label)
        faults = self.faults
        if me.is_worker:
            await asyncio.sleep(self.random.uniform(0, faults.latency))
            return
        if (not faults.crash_at or label in faults.crash_at) and self._happens(faults.crash):
            me.is_dead = True
            raise Crash
        if self._happens(faults.stall):
            await _freeze(self.random.uniform(0, faults.longest_stall))
        else:
            await asyncio.sleep(self.random.uniform(0, faults.latency))
        if label in ("send", "sent") and self._happens(faults.no_answer):
            raise EnqueueError("no answer")
        if label in STORE_LABELS and self._happens(faults.disconnect):
            raise StoreUnavailable("the connection was cut")

    def lock_server_fails(self) -> bool:
        return self._happens(self.faults.lock_error)

    def _happens(self, probability: float) -> bool:
        struck = probability > 0 and self.random.random() < probability
        self.struck += struck
        return struck

    def _note(self, me: Incarnation, label: str) -> None:
        self.points += 1
        self.labels.add(label)
        instant = round(asyncio.get_running_loop().time() * 1e6)
        self.trace = crc32(f"{me.name} {label} {instant}".encode(), self.trace)


async def _freeze(seconds: float) -> None:
    """Stand still like a stopped process, which hears of a time-out only after it goes on."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while (rest := until - loop.time()) > 0:
        try:
            await asyncio.sleep(rest)
        except asyncio.CancelledError:
            # What was awaited may well have ended before the time-out gets its turn.
            continue
