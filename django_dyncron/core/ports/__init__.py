"""The ports: what the scheduler asks of a store, a lock, a queue, a clock and an observer.

The abstract methods of :class:`ICronJobRepository`, :class:`ILockProvider` and
:class:`ITaskEnqueuer` are all a user must write. Everything else has a working default.
All moments are aware and in UTC.
"""

from __future__ import annotations

from .enqueuers import IRunJournal, ITaskEnqueuer
from .locks import ILockProvider
from .repositories import ICronJobRepository, IDurableCronJobRepository
from .surroundings import Clock, Observer

__all__ = [
    "Clock",
    "ICronJobRepository",
    "IDurableCronJobRepository",
    "ILockProvider",
    "IRunJournal",
    "ITaskEnqueuer",
    "Observer",
]
