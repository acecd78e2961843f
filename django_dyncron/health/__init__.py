"""Whether cron jobs are looked after: who runs them, what is late, and what is wrong.

``values`` says what is told, ``reading`` asks the database, ``judging`` decides what is a problem
and what a warning, ``in_time`` waits for a database no longer than one likes, and ``report`` makes
JSON of it. The command, the view, the admin's banner and the metrics all come here.
"""

from __future__ import annotations

from .in_time import read_health_in_time
from .judging import LONGEST_MAX_AGE, SHORTEST_MAX_AGE, read_health
from .reading import judge_replica, read_replicas, with_database_time
from .report import as_json
from .values import (
    MOST,
    Finding,
    Health,
    Jobs,
    Overdue,
    PausedSince,
    ReplicaHealth,
    ReplicaState,
)
from .words import counted, duration, listed, moment, printable

__all__ = [
    "LONGEST_MAX_AGE",
    "MOST",
    "SHORTEST_MAX_AGE",
    "Finding",
    "Health",
    "Jobs",
    "Overdue",
    "PausedSince",
    "ReplicaHealth",
    "ReplicaState",
    "as_json",
    "counted",
    "duration",
    "judge_replica",
    "listed",
    "moment",
    "printable",
    "read_health",
    "read_health_in_time",
    "read_replicas",
    "with_database_time",
]
