"""The four tables: cron jobs, their runs, the locks and the replicas."""

from __future__ import annotations

from .due import NEEDS_PLANNING, SCHEDULE_FIELDS
from .jobs import DEFINITION_FIELDS, CronJob
from .locks import CronLock, LockKeyField
from .replicas import Replica
from .runs import CronRun

__all__ = [
    "DEFINITION_FIELDS",
    "NEEDS_PLANNING",
    "SCHEDULE_FIELDS",
    "CronJob",
    "CronLock",
    "CronRun",
    "LockKeyField",
    "Replica",
]
