"""The verdict on a simulation: which slots were enqueued twice, and which were lost.

Slots are counted against a plain list of those that had to come, made without the product.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django_dyncron.core.definitions import CronJobDefinition
from django_dyncron.core.policies import RunStatus
from django_dyncron.testing.rows import StoredRun
from tests.chaos.queues import Delivery
from tests.chaos.simulator import Simulation

MINUTE = timedelta(minutes=1)
Expected = Mapping[str, Collection[datetime]]
Named = tuple[str, str]
"""A job id and a slot, as ``2026-11-01T05:30Z``."""


@dataclass
class Verdict:
    """How many slots there were, and what became of them, while ``faults`` struck.

    ``repeats`` are second deliveries of the same run id, which a queue without memory may see.

    ``duplicates`` were enqueued more often than the guarantee of their queue allows, ``losses``
    have no row or were never delivered though no row says why, ``strangers`` were enqueued without
    being scheduled.
    """

    slots: int = 0
    delivered: int = 0
    recorded: int = 0
    repeats: int = 0
    faults: int = 0
    duplicates: list[Named] = field(default_factory=list)
    losses: list[Named] = field(default_factory=list)
    strangers: list[Named] = field(default_factory=list)

    def add(self, other: Verdict) -> None:
        self.slots += other.slots
        self.delivered += other.delivered
        self.recorded += other.recorded
        self.repeats += other.repeats
        self.faults += other.faults
        self.duplicates += other.duplicates
        self.losses += other.losses
        self.strangers += other.strangers

    @property
    def is_clean(self) -> bool:
        return not (self.duplicates or self.losses or self.strangers)


def judge(simulation: Simulation, expected: Expected) -> Verdict:
    """Compare what happened with the ``expected`` slots of each job."""
    verdict = judge_runs(
        [row.job for row in simulation.store.rows.values()],
        simulation.runs,
        simulation.mailbox.deliveries,
        expected,
        may_repeat=simulation.weather.struck > 0,
    )
    verdict.faults = simulation.weather.struck
    return verdict


def judge_runs(
    jobs: Iterable[CronJobDefinition],
    runs: Iterable[StoredRun],
    deliveries: Iterable[Delivery],
    expected: Expected,
    *,
    may_repeat: bool,
) -> Verdict:
    """Compare run rows and deliveries with the ``expected`` slots of each job.

    ``may_repeat`` says that there were faults, after which a queue without memory may see a run
    again, if its job prefers that to never.
    """
    runs_of, delivered = defaultdict(list), defaultdict(list)
    for stored in runs:
        runs_of[stored.run.job_id].append(stored)
    for delivery in deliveries:
        delivered[delivery.job_id].append(delivery)
    verdict = Verdict()
    for job in jobs:
        _judge_job(
            verdict,
            job.job_id,
            set(expected.get(job.job_id, ())),
            delivered[job.job_id],
            runs_of[job.job_id],
            may_repeat=may_repeat and not job.enqueuer and job.delivery == "at_least_once",
        )
    return verdict


def _judge_job(
    verdict: Verdict,
    job_id: str,
    slots: set[datetime],
    deliveries: list[Delivery],
    runs: list[StoredRun],
    *,
    may_repeat: bool,
) -> None:
    times = Counter(delivery.slot for delivery in deliveries)
    ids = {(delivery.slot, delivery.run_id) for delivery in deliveries}
    rows = {stored.run.scheduled_for: stored.status for stored in runs}
    covered = Coverage(runs)
    repeated = {slot for slot, count in times.items() if count > 1}
    with_two_ids = {slot for slot, count in Counter(slot for slot, _ in ids).items() if count > 1}
    verdict.slots += len(slots)
    verdict.delivered += len(slots & times.keys())
    verdict.repeats += sum(count - 1 for count in times.values())
    verdict.duplicates += _named(job_id, with_two_ids if may_repeat else repeated)
    verdict.strangers += _named(job_id, times.keys() - slots)
    lost = {
        slot
        for slot in slots - times.keys()
        if rows.get(slot) not in _CLOSED and not (slot not in rows and covered.has(slot))
    }
    verdict.losses += _named(job_id, lost | {slot for slot in slots if not covered.has(slot)})
    verdict.recorded += len(slots - times.keys() - lost)


_CLOSED = (RunStatus.SKIPPED, RunStatus.FAILED, RunStatus.UNKNOWN)
"""What a row may say about a slot that was not delivered."""


class Coverage:
    """The slots for which there is a row, compacted ranges included."""

    def __init__(self, runs: Iterable[StoredRun]) -> None:
        self._moments = set()
        self._ranges = []
        for stored in runs:
            first = stored.run.scheduled_for
            assert first is not None
            self._moments.add(first)
            if stored.until is not None and stored.until > first:
                self._ranges.append((first, stored.until))

    def has(self, slot: datetime) -> bool:
        return slot in self._moments or any(first <= slot <= last for first, last in self._ranges)


def every(step: int, after: datetime, minutes: int) -> list[datetime]:
    """List each ``step``-th minute of the hour in the ``minutes`` that follow ``after``."""
    first = after.replace(second=0, microsecond=0) + MINUTE
    moments = [first + number * MINUTE for number in range(minutes)]
    return [moment for moment in moments if moment.minute % step == 0]


def _named(job_id: str, slots: Iterable[datetime]) -> list[Named]:
    return [(job_id, f"{slot:%Y-%m-%dT%H:%MZ}") for slot in sorted(slots)]
