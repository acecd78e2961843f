"""What comes back from a queue, and how it is written down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .definitions import Run


class Outcome(StrEnum):
    """How one attempt to hand a run to its queue ended."""

    ENQUEUED = "enqueued"
    """The queue has it."""
    STARTED_HERE = "started_here"
    """A pool of this process has it and reports through the run journal."""
    NOT_SENT = "not_sent"
    """It certainly did not reach the queue."""
    UNCERTAIN = "uncertain"
    """It may have reached the queue: a time-out, a lost connection."""
    REFUSED = "refused"
    """It can never be accepted as it stands."""
    UNTRIED = "untried"
    """This replica ran out of lease before sending; another may take it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to deliver ``run``. ``task_id`` is the queue's own name for it, if it has one."""

    run: Run
    outcome: Outcome
    task_id: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What to write about a run: its new status and, if it is to be tried again, from when.

    ``lease_until`` is set only while the run stays claimed, ``enqueued_at`` only when the queue
    took it, ``finished_at`` only when all is over (each in UTC). ``reason`` says why it was
    skipped. A run ``is_given_back`` if it stays claimed and was certainly not sent: it then belongs
    to nobody.
    """

    run: Run
    status: str
    task_id: str = ""
    error: str = ""
    reason: str = ""
    enqueued_at: datetime | None = None
    finished_at: datetime | None = None
    lease_until: datetime | None = None
    is_given_back: bool = False
