"""Workers behind the queues of a simulation: they begin what they are given, as often as given."""

from __future__ import annotations

import asyncio
from collections import Counter
from uuid import UUID

from django_dyncron.core.definitions import Run
from tests.chaos.faults import Incarnation, incarnation
from tests.chaos.simulator import Simulation


class Workers:
    """Work off each message ``copies`` times, as a queue does that delivers again and again.

    ``begun`` counts the starts of a task that does not look; ``begun_once`` those of one whose
    start the store has to confirm.
    """

    def __init__(self, simulation: Simulation, copies: int = 1) -> None:
        self.begun: Counter[UUID] = Counter()
        self.begun_once: Counter[UUID] = Counter()
        self._simulation = simulation
        self._copies = copies
        simulation.mailbox.work = self._receive

    def _receive(self, run: Run) -> None:
        for _ in range(self._copies):
            task = asyncio.ensure_future(self._work_off(run))
            self._simulation.mailbox.at_work.add(task)
            task.add_done_callback(self._simulation.mailbox.at_work.discard)

    async def _work_off(self, run: Run) -> None:
        incarnation.set(Incarnation("worker", is_worker=True))
        simulation = self._simulation
        # A queue may be so long that the lease of a claim ends before a worker gets there.
        await asyncio.sleep(simulation.random.uniform(0, 150))
        self.begun[run.run_id] += 1
        if not await simulation.store.report_start(run.run_id, run.job_id):
            return
        self.begun_once[run.run_id] += 1
        await asyncio.sleep(simulation.random.uniform(0, 20))
        await simulation.store.report_end(run.run_id, run.job_id)
