"""A crew of ``run_dyncron`` processes that die all the time and are replaced at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

from django_dyncron.models import Replica
from tests.chaos.crashing import EXIT_CODE
from tests.integration.cluster import Cluster, Process

FAST = ("--tick-interval", "0.1")
_LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
_EXIT_CODES = (EXIT_CODE, -9)


@dataclass
class Crew:
    """``settings`` are those of ``DYNCRON``. With ``waits`` leases end when they end.

    Otherwise :meth:`tend` lets the minute pass, in the database, that a run belongs to a process
    that no longer answers.
    """

    cluster: Cluster
    settings: dict[str, Any]
    options: tuple[str, ...] = FAST
    waits: bool = False
    deaths: int = 0
    _living: list[Process] = field(default_factory=list)
    _started: int = 0

    def assemble(self, count: int) -> None:
        """Start so many processes and return when all of them have given a sign of life."""
        self._start(count)
        self.tend_until(self._all_have_beaten, seconds=60)

    def _all_have_beaten(self) -> bool:
        beaten = Replica.objects.using(self.cluster.alias).values_list("replica_id", flat=True)
        return {process.name for process in self._living} <= set(beaten)

    def _start(self, count: int) -> None:
        for _ in range(count):
            self._started += 1
            name = f"crew-{self._started}"
            command = ("-m", "django", "run_dyncron", "--replica-id", name, *self.options)
            self._living.append(self.cluster.start_other(name, *command, **self.settings))

    def kill_one(self, random: Random) -> None:
        random.choice(self._living).kill()

    def tend(self) -> None:
        """Bury the dead and replace them."""
        dead = [process for process in self._living if not process.is_alive]
        for process in dead:
            assert process.exit_code() in _EXIT_CODES, process.output
            self._living.remove(process)
        self.deaths += len(dead)
        if dead and not self.waits:
            held = self.cluster.runs.filter(replica__in=[process.name for process in dead])
            held.filter(status__in=["claimed", "running"]).update(lease_until=_LONG_AGO)
        self._start(len(dead))

    def tend_until(
        self,
        condition: Callable[[], object],
        seconds: float,
        meanwhile: Callable[[], object] = bool,
    ) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "\n".join(one.output for one in self._living)
            meanwhile()
            self.tend()
            time.sleep(0.02)

    def has_closed(self, count: int) -> bool:
        """Tell whether there are ``count`` runs and nobody has one in hand."""
        runs = self.cluster.runs
        return runs.count() >= count and not runs.filter(status__in=["claimed", "running"]).exists()

    def dismiss(self) -> None:
        for process in self._living:
            process.kill()
