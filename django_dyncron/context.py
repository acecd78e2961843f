"""Which run the code is in: what a task may ask about itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
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

    Known inside tasks that this process or the worker of a queue runs; see the page of each queue
    for tasks of its own kind.
    """
    return _current.get()


@contextmanager
def running(run: CurrentRun | None) -> Iterator[None]:
    """Make ``run`` the current one within the block."""
    token = enter_run(run)
    try:
        yield
    finally:
        leave_run(token)


def enter_run(run: CurrentRun | None) -> Token[CurrentRun | None]:
    """Make ``run`` the current one; return what :func:`leave_run` takes."""
    return _current.set(run)


def leave_run(token: Token[CurrentRun | None]) -> None:
    """Make current again what was so before, in the same context."""
    _current.reset(token)
