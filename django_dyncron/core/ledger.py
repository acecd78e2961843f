"""The ledger: records of runs, kept until the store has them, told to observers afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from .courier import Courier
from .definitions import Run
from .events import RunEnqueued, RunFailed, RunLost, SlotsSkipped, StepFailed
from .exceptions import StoreUnavailable
from .observers import Observers
from .policies import RunStatus
from .ports import IDurableCronJobRepository
from .runs import Attempt, Outcome, Record

_TAKEN = (Outcome.ENQUEUED, Outcome.STARTED_HERE)


class Ledger:
    """Holds what the queues answered until it is committed.

    If the database goes away after a queue took a run, the record stays here for a later tick; the
    run's lease is renewed meanwhile, so that nobody delivers it again.
    """

    def __init__(self, courier: Courier, observers: Observers) -> None:
        self._courier = courier
        self._observers = observers
        self._open: list[Record] = []
        self._retries_at: datetime | None = None

    def enter(self, attempts: Sequence[Attempt], now: datetime, counts: Counter[str]) -> None:
        """Judge ``attempts``, made at ``now``, and keep what is to be written."""
        enqueued = sum(attempt.outcome in _TAKEN for attempt in attempts)
        untried = sum(attempt.outcome == Outcome.UNTRIED for attempt in attempts)
        counts["enqueued"] += enqueued
        counts["failed"] += len(attempts) - enqueued - untried
        for attempt in attempts:
            record = self._courier.judge(attempt, now)
            if record is not None:
                self._open.append(record)
                if record.lease_until is not None:
                    earliest = self._retries_at or record.lease_until
                    self._retries_at = min(earliest, record.lease_until)

    def note(self, records: Sequence[Record], counts: Counter[str]) -> None:
        """Tell of ``records`` that are committed already."""
        for record in records:
            counts["enqueued"] += record.status == RunStatus.ENQUEUED
            counts["failed"] += record.status in (RunStatus.FAILED, RunStatus.UNKNOWN) or (
                record.status == RunStatus.CLAIMED and bool(record.error)
            )
            self.tell(record)

    def open_records(self) -> tuple[Record, ...]:
        return tuple(self._open)

    def runs(self) -> list[Run]:
        """Return the runs whose leases must not end before their record is written."""
        return [record.run for record in self._open]

    def take_retries_at(self) -> datetime | None:
        """Return the instant of the earliest retry entered since this was last asked."""
        retries_at, self._retries_at = self._retries_at, None
        return retries_at

    async def write(self, repository: IDurableCronJobRepository) -> None:
        """Write all open records; they stay open if the store is away.

        If one of them cannot be written, the others are: it is told of and given up, and its run
        is delivered again when its lease ends.
        """
        records = self.open_records()
        if not records:
            return
        try:
            await repository.record(records)
        except StoreUnavailable:
            raise
        except Exception:
            await self._write_apart(repository)
        else:
            self.close(len(records))

    async def _write_apart(self, repository: IDurableCronJobRepository) -> None:
        while self._open:
            record, *self._open = self._open
            try:
                await repository.record([record])
            except StoreUnavailable:
                self._open.insert(0, record)
                raise
            except Exception as error:
                self._observers.tell(StepFailed(f"recording a run of {record.run.job_id}", error))
            else:
                self.tell(record)

    def close(self, count: int) -> None:
        """Note that the ``count`` oldest open records are committed, and tell."""
        records, self._open = self._open[:count], self._open[count:]
        for record in records:
            self.tell(record)

    def tell(self, record: Record) -> None:
        """Tell observers of a committed record."""
        if record.status == RunStatus.LOST:
            self._observers.tell(RunLost(record.run))
        elif record.status == RunStatus.ENQUEUED and record.enqueued_at is not None:
            self._observers.tell(RunEnqueued(record.run, record.enqueued_at, record.task_id))
        elif record.status == RunStatus.SKIPPED:
            # A run by hand has no slot, but a moment at which it was asked for.
            slot = record.run.scheduled_for or record.run.created_at
            if slot is not None:
                self._observers.tell(SlotsSkipped(record.run.job_id, record.reason, slot, slot, 1))
        elif record.error:
            self._observers.tell(
                RunFailed(record.run, record.error, record.lease_until, record.status)
            )
