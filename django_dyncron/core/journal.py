"""The run journals: how a pool of this process reports, with and without a durable store."""

from __future__ import annotations

from .clock import StoreTime
from .courier import LEASE
from .definitions import Run
from .events import RunEnqueued, RunFailed, RunFinished, RunStarted
from .observers import Observers
from .policies import RunStatus
from .ports import IDurableCronJobRepository


class DurableJournal:
    """Moves run rows to *running* and on to their end, each by comparison with their owner."""

    def __init__(
        self,
        repository: IDurableCronJobRepository,
        replica_id: str,
        time: StoreTime,
        observers: Observers,
    ) -> None:
        self._repository = repository
        self._replica_id = replica_id
        self._time = time
        self._observers = observers

    async def start(self, run: Run) -> bool:
        now = self._time.now()
        owned = await self._repository.start_run(run, self._replica_id, now, LEASE)
        if owned:
            self._observers.tell(RunEnqueued(run, now))
            self._observers.tell(RunStarted(run))
        return owned

    async def finish(self, run: Run, error: str = "") -> None:
        status = RunStatus.FAILED if error else RunStatus.SUCCEEDED
        await self._repository.finish_run(run, status, self._time.now(), error)
        self._observers.tell(RunFailed(run, error) if error else RunFinished(run))


class UnkeptJournal:
    """Tells observers and keeps nothing: for repositories without run rows."""

    def __init__(self, time: StoreTime, observers: Observers) -> None:
        self._time = time
        self._observers = observers

    async def start(self, run: Run) -> bool:
        self._observers.tell(RunEnqueued(run, self._time.now()))
        self._observers.tell(RunStarted(run))
        return True

    async def finish(self, run: Run, error: str = "") -> None:
        self._observers.tell(RunFailed(run, error) if error else RunFinished(run))
