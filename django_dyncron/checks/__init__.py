"""System checks: what is wrong found before the first tick, one function a message.

``configuration`` reads the settings only, ``database`` asks the database, ``jobs`` reads the table
of cron jobs and the declarations in code. Each id is an anchor of the page "System checks" in the
documentation.
"""

from __future__ import annotations

from .configuration import (
    TAG,
    check_allowed_tasks,
    check_client_libraries,
    check_database_alias,
    check_enqueuers,
    check_keys,
    check_lock_provider,
    check_process_local_lock,
    check_repository,
    check_use_tz,
    check_values,
    check_workers,
)
from .database import check_database_vendor, check_lock_table, check_sqlite_version
from .jobs import check_cron_jobs, check_declared_jobs, check_unsynced_jobs

__all__ = [
    "TAG",
    "check_allowed_tasks",
    "check_client_libraries",
    "check_cron_jobs",
    "check_database_alias",
    "check_database_vendor",
    "check_declared_jobs",
    "check_enqueuers",
    "check_keys",
    "check_lock_provider",
    "check_lock_table",
    "check_process_local_lock",
    "check_repository",
    "check_sqlite_version",
    "check_unsynced_jobs",
    "check_use_tz",
    "check_values",
    "check_workers",
]
