"""The five tables: cron jobs, their runs, pauses of everything, the locks and the replicas."""

from __future__ import annotations

from .due import NEEDS_PLANNING, SCHEDULE_FIELDS
from .jobs import DEFINITION_FIELDS, CronJob
from .locks import CronLock, LockKeyField
from .origins import Origin
from .pauses import Pause
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
    "Origin",
    "Pause",
    "Replica",
]
