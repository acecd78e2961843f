"""Which run the code is in: what a task may ask about itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from .core.definitions import Run, aware_utc


@dataclass(frozen=True, slots=True)
class CurrentRun:
    """The identity of a run: the same in every replica and on every attempt.

    ``scheduled_for`` is the slot in UTC, or ``None`` for a run that somebody asked for by hand.
    """

    run_id: UUID
    job_id: str
    scheduled_for: datetime | None

    @classmethod
    def of(cls, run: Run) -> CurrentRun:
        """Return the identity of ``run``."""
        return cls(run.run_id, run.job_id, run.scheduled_for)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CurrentRun:
        """Read what :meth:`as_json` wrote, at the other end of a queue."""
        moment = value["scheduled_for"]
        return cls(
            run_id=UUID(value["run_id"]),
            job_id=value["job_id"],
            scheduled_for=moment and aware_utc(datetime.fromisoformat(moment)),
        )

    def as_json(self) -> dict[str, str | None]:
        """Return the identity in types every queue can carry."""
        return {
            "run_id": str(self.run_id),
            "job_id": self.job_id,
            "scheduled_for": self.scheduled_for.isoformat() if self.scheduled_for else None,
        }


_current: ContextVar[CurrentRun | None] = ContextVar("django_dyncron_current_run", default=None)


def current_run() -> CurrentRun | None:
    """Return the run this code is part of, or ``None`` outside of one.

    Known inside tasks called by the local enqueuer and inside background tasks called by a worker;
    a task object of the queue itself is not told.
    """
    return _current.get()


@contextmanager
def running(run: CurrentRun | None) -> Iterator[None]:
    """Make ``run`` the current one within the block."""
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)
