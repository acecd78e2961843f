"""What job rows are told of their runs: when the last one was enqueued, and its error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from .dialects import Dialect, Row


def job_note(
    job_id: str, enqueued_at: datetime | None = None, error: str | None = None
) -> dict[str, Any]:
    """Return what to tell a job's row; what is ``None`` stays as it is."""
    return {"job_id": job_id, "enqueued_at": enqueued_at, "error": error}


class JobNotes:
    """Writes notes on jobs, and keeps those for rows that somebody has locked.

    A claim or a record never waits for a job's row. What it could not write there is written with
    a later record or heartbeat, within seconds after the row is free. It is lost if this process
    ends before; the run's own row has it all the same, and the job's next run writes it anew.
    """

    def __init__(self) -> None:
        self._owed: dict[str, Row] = {}

    def write(self, dialect: Dialect, notes: Sequence[Row]) -> None:
        """Write ``notes`` in the open transaction, as far as their rows are free."""
        self.owe(dialect, notes, dialect.note(notes))

    def pay(self, dialect: Dialect) -> None:
        """Write in the open transaction what is owed."""
        if self._owed:
            locked = dialect.note(list(self._owed.values()))
            self._on_commit(dialect, partial(self._forget, self._owed.keys() - locked))

    def owe(self, dialect: Dialect, notes: Iterable[Row], locked: Collection[str]) -> None:
        """Keep those of ``notes`` whose job is ``locked``, if the open transaction commits."""
        if locked:
            owed = [note for note in notes if note["job_id"] in locked]
            self._on_commit(dialect, partial(self._keep, owed))

    def _on_commit(self, dialect: Dialect, action: Callable[[], None]) -> None:
        transaction.on_commit(action, using=dialect.connection.alias)

    def _keep(self, notes: Iterable[Row]) -> None:
        for note in notes:
            job_id = note["job_id"]
            self._owed[job_id] = _merged(self._owed[job_id], note) if job_id in self._owed else note

    def _forget(self, job_ids: Collection[str]) -> None:
        for job_id in job_ids:
            self._owed.pop(job_id, None)


def _merged(before: Row, after: Row) -> Row:
    moments = [note["enqueued_at"] for note in (before, after) if note["enqueued_at"] is not None]
    error = before["error"] if after["error"] is None else after["error"]
    return job_note(after["job_id"], max(moments, default=None), error)
