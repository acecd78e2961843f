"""What differs between databases in claiming and recording, and who speaks which dialect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.utils.module_loading import import_string

from ..core.claims import ClaimOrder
from ..core.definitions import CronJobDefinition
from ..core.planning import JobPlan
from ..core.policies import RunStatus

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A job's row as it was read, locked.

    ``seen`` is what its dialect compares when the cursor is swapped. A row with a value that its
    column forbids says so in ``unreadable``.
    """

    key: int
    definition: CronJobDefinition
    due_at: datetime
    plan_from: datetime | None
    seen: Mapping[str, Any] = field(default_factory=dict)
    unreadable: str = ""


Move = tuple[BatchRow, JobPlan]
"""A row and where its plan moves the cursor."""

RECORDED_FIELDS = (
    "status",
    "reason",
    "task_id",
    "error",
    "enqueued_at",
    "finished_at",
    "lease_until",
)
"""The columns of a run that a record writes."""

IN_HAND = (RunStatus.CLAIMED, RunStatus.RUNNING)
"""Runs that a replica answers for: what records are about, and what is never pruned."""


class Won(NamedTuple):
    """What a claim came to: the keys of the jobs it moved, the ids of the run rows it added."""

    jobs: Collection[int]
    runs: Collection[UUID]


class Dialect(ABC):
    """The statements of one kind of database, run on ``connection`` inside a transaction."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection

    def begin(self, *, writes_at_once: bool = False) -> None:
        """Do what must come first in a transaction that is going to write.

        ``writes_at_once`` says that its next statement is a write and not a read.
        """

    @abstractmethod
    def read(self, order: ClaimOrder) -> list[BatchRow]:
        """Read and lock up to ``order.limit`` rows: due ones first, then those to be planned."""

    @abstractmethod
    def claim(self, moves: Sequence[Move], runs: Sequence[Row], order: ClaimOrder) -> Won:
        """Swap cursors and add the run rows of the jobs whose swap succeeded.

        ``runs`` name their job's key as ``job`` and leave out what :func:`new_run` says.
        """

    @abstractmethod
    def record(self, runs: Sequence[Row], notes: Sequence[Row]) -> Collection[str]:
        """Write ``runs`` that are in hand, and ``notes`` on their jobs.

        A run that was taken over since, by its ``attempts``, is left to its new owner. One that
        ``is_given_back`` has no owner afterwards. One that a worker has begun goes its own way,
        unless it is recorded as lost: only its ``task_id`` is news, and the note's ``error`` is
        not. Return the ids of jobs that were not noted on, because somebody has their rows locked
        (or deleted them).
        """

    @abstractmethod
    def note(self, notes: Sequence[Row]) -> Collection[str]:
        """Write ``notes`` on jobs; return the ids of those whose rows somebody has locked.

        A job's ``enqueued_at`` never moves its last run backwards; an ``error`` of ``None`` leaves
        the one noted before.
        """


def new_run(order: ClaimOrder) -> dict[str, Any]:
    """Return the columns that most run rows of a batch share."""
    return {
        "status": RunStatus.CLAIMED,
        "reason": "",
        "created_at": order.at,
        "replica": order.replica_id,
        "attempts": 1,
        "lease_until": order.at + order.lease,
        "skipped_until": None,
        "slot_count": 1,
    }


def notes_that_stand(notes: Iterable[Row], written: Iterable[tuple[str, bool]]) -> list[Row]:
    """Return the notes on jobs with ``written`` records, by job id and whether a record stands."""
    stands: dict[str, bool] = {}
    for job_id, stood in written:
        stands[job_id] = stands.get(job_id, True) and bool(stood)
    return [
        note if stands[note["job_id"]] else {**note, "error": None}
        for note in notes
        if note["job_id"] in stands
    ]


_DIALECTS = {
    "postgresql": "django_dyncron.repositories.postgres.PostgresDialect",
    "sqlite": "django_dyncron.repositories.sqlite.SqliteDialect",
}
_PORTABLE = "django_dyncron.repositories.portable.PortableDialect"


def dialect_of(connection: BaseDatabaseWrapper) -> Dialect:
    """Return the dialect to speak on ``connection``."""
    dialect: Dialect = import_string(_DIALECTS.get(connection.vendor, _PORTABLE))(connection)
    return dialect
