"""Cron for Django that lives in the database and runs on any number of replicas."""

from __future__ import annotations

from .context import CurrentRun, current_run
from .core.definitions import CronJobDefinition
from .core.exceptions import (
    DyncronError,
    EnqueueError,
    EnqueueNotSent,
    EnqueueRefused,
    InvalidCronExpression,
    LockError,
    RunNotStarted,
    StoreUnavailable,
    UnknownTimeZone,
)
from .core.ports import ICronJobRepository, ILockProvider, ITaskEnqueuer
from .core.schedule import CronSchedule
from .core.scheduler import DynamicScheduler, TickResult
from .once import runs_once
from .registry import background_task, cron_job

__version__ = "0.1.0"

__all__ = [
    "CronJobDefinition",
    "CronSchedule",
    "CurrentRun",
    "DynamicScheduler",
    "DyncronError",
    "EnqueueError",
    "EnqueueNotSent",
    "EnqueueRefused",
    "ICronJobRepository",
    "ILockProvider",
    "ITaskEnqueuer",
    "InvalidCronExpression",
    "LockError",
    "RunNotStarted",
    "StoreUnavailable",
    "TickResult",
    "UnknownTimeZone",
    "background_task",
    "cron_job",
    "current_run",
    "runs_once",
]
