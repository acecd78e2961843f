"""Whether cron jobs are looked after: who runs them, what is late, and what is wrong.

``values`` says what is told, ``reading`` asks the database, ``judging`` decides what is a problem
and what a warning, ``in_time`` waits for a database no longer than one likes, and ``report`` makes
JSON of it. The command, the view, the admin's banner and the metrics all come here; ``max_age``
reads what the first two may be asked with.
"""

from __future__ import annotations

from .in_time import read_health_in_time
from .judging import read_health
from .values import (
    MOST,
    Finding,
    Health,
    Jobs,
    PausedSince,
    ReplicaHealth,
    ReplicaState,
    Waiting,
)

__all__ = [
    "MOST",
    "Finding",
    "Health",
    "Jobs",
    "PausedSince",
    "ReplicaHealth",
    "ReplicaState",
    "Waiting",
    "read_health",
    "read_health_in_time",
]
