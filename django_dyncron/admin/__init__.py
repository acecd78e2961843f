"""The admin: cron jobs to edit, runs and replicas to look at.

To use another admin theme, unregister a model and register it again with the mixin here before the
theme's own ``ModelAdmin``.
"""

from __future__ import annotations

from .jobs import CronJobAdmin, CronJobAdminMixin
from .replicas import ReplicaAdmin, ReplicaAdminMixin
from .runs import CronRunAdmin, CronRunAdminMixin

__all__ = [
    "CronJobAdmin",
    "CronJobAdminMixin",
    "CronRunAdmin",
    "CronRunAdminMixin",
    "ReplicaAdmin",
    "ReplicaAdminMixin",
]
