"""System checks: every wrong setting found before the first tick, one function a message.

Each id is an anchor of the page "System checks" in the documentation.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.db import connections

from .conf import (
    ConfigurationError,
    MissingClient,
    UnknownKey,
    database_alias,
    load_enqueuer,
    load_lock_provider,
    load_repository,
    read_settings,
)
from .conf.enqueuers import enqueuer_names
from .conf.locks import is_process_local, lock_table
from .models import CronJob

TAG = "django_dyncron"
SUPPORTED_VENDORS = ("postgresql", "sqlite", "mysql")
OLDEST_SQLITE = (3, 35)


@register(TAG)
def check_use_tz(**_: Any) -> list[CheckMessage]:
    """Report a project that works without time zones."""
    if django_settings.USE_TZ:
        return []
    return [Error("USE_TZ is off.", hint="Set USE_TZ = True.", id="django_dyncron.E001")]


@register(TAG)
def check_keys(**_: Any) -> list[CheckMessage]:
    """Report keys that DYNCRON does not have."""
    _settings, errors = read_settings()
    unknown = [error for error in errors if isinstance(error, UnknownKey)]
    return _messages(unknown, "django_dyncron.E002")


@register(TAG)
def check_values(**_: Any) -> list[CheckMessage]:
    """Report values of the wrong type or range."""
    _settings, errors = read_settings()
    wrong = [error for error in errors if not isinstance(error, UnknownKey)]
    return _messages(wrong, "django_dyncron.E003")


@register(TAG)
def check_database_alias(**_: Any) -> list[CheckMessage]:
    """Report a DATABASE that does not exist."""
    return _messages(_failures_at("DATABASE"), "django_dyncron.E004")


@register(TAG)
def check_lock_provider(**_: Any) -> list[CheckMessage]:
    """Report a lock provider that cannot be built."""
    return _messages(_failures_at("LOCK_PROVIDER"), "django_dyncron.E005")


@register(TAG)
def check_enqueuers(**_: Any) -> list[CheckMessage]:
    """Report enqueuers that cannot be built."""
    return _messages(_failures_at("ENQUEUER", "ENQUEUERS"), "django_dyncron.E006")


@register(TAG)
def check_repository(**_: Any) -> list[CheckMessage]:
    """Report a repository that cannot be built."""
    return _messages(_failures_at("REPOSITORY"), "django_dyncron.E007")


@register(TAG)
def check_client_libraries(**_: Any) -> list[CheckMessage]:
    """Report client libraries that are not installed."""
    missing = [error for error in _failures() if isinstance(error, MissingClient)]
    return _messages(missing, "django_dyncron.E008")


@register(TAG)
def check_database_vendor(**_: Any) -> list[CheckMessage]:
    """Report a database without a durable claim."""
    alias = _tables_alias()
    if alias is None or connections[alias].vendor in SUPPORTED_VENDORS:
        return []
    return [
        Error(
            f'The database "{alias}" is {connections[alias].vendor}, which is not supported.',
            hint='Keep the tables in PostgreSQL, SQLite or MySQL: set DYNCRON["DATABASE"].',
            id="django_dyncron.E009",
        )
    ]


@register(Tags.database)
def check_sqlite_version(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Report an SQLite without what the claim needs."""
    alias = _tables_alias()
    if alias is None or alias not in (databases or ()) or connections[alias].vendor != "sqlite":
        return []
    version = sqlite3.sqlite_version_info
    if version >= OLDEST_SQLITE:
        return []
    return [
        Error(
            f"SQLite {'.'.join(map(str, version))} is too old for cron jobs.",
            hint="Use SQLite 3.35 or newer.",
            id="django_dyncron.E010",
        )
    ]


@register(TAG)
def check_allowed_tasks(**_: Any) -> list[CheckMessage]:
    """Warn of patterns that allow far too much."""
    settings, _errors = read_settings()
    return [
        Warning(
            f'DYNCRON["ALLOWED_TASKS"] holds "{pattern}", which opens every installed package to '
            "whoever can edit a cron job.",
            hint='Begin with the name of your own package, as in "shop.tasks.*".',
            id="django_dyncron.W001",
        )
        for pattern in settings.allowed_tasks
        if pattern.startswith("*")
    ]


@register(TAG)
def check_process_local_lock(**_: Any) -> list[CheckMessage]:
    """Warn of locks that other processes do not see."""
    settings, _errors = read_settings()
    if django_settings.DEBUG or not is_process_local(settings):
        return []
    return [
        Warning(
            'DYNCRON["LOCK_PROVIDER"] is "memory", which only this process sees.',
            hint='It is meant for development and tests. Use "database" or "redis".',
            id="django_dyncron.W002",
        )
    ]


@register(TAG)
def check_task_backends(**_: Any) -> list[CheckMessage]:
    """Warn of backends that run tasks inside the scheduler, or not at all."""
    settings, _errors = read_settings()
    return [
        Warning(
            f'The enqueuer "{name}" uses the {kind} of TASKS, which has no workers.',
            hint="Choose a backend that has some, or the local enqueuer.",
            id="django_dyncron.W003",
        )
        for name in enqueuer_names(settings)
        if (kind := _backend_without_workers(name))
    ]


@register(Tags.database)
def check_lock_table(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Warn of a lock table that is not there; locks then always fail."""
    try:
        place = lock_table(read_settings()[0])
    except ConfigurationError:
        return []
    if place is None or place[0] not in (databases or ()):
        return []
    alias, table = place
    # Before the first migrate nothing is amiss.
    if _has_table(alias, table) or not _has_table(alias, CronJob._meta.db_table):
        return []
    return [
        Warning(
            f'The lock table "{table}" is missing from the database "{alias}".',
            hint="Run migrate, or the lock provider's setup() if it has a table_name of its own.",
            id="django_dyncron.W004",
        )
    ]


def _messages(errors: Iterable[ConfigurationError], id_: str) -> list[CheckMessage]:
    return [Error(error.message, hint=error.hint or None, id=id_) for error in errors]


def _failures_at(*keys: str) -> list[ConfigurationError]:
    """Return what went wrong with the settings of these keys, missing libraries aside."""
    places = [f'DYNCRON["{key}"]' for key in keys]
    return [
        error
        for error in _failures()
        if not isinstance(error, MissingClient)
        and any(error.path.startswith(place) for place in places)
    ]


def _failures() -> list[ConfigurationError]:
    """Build everything the settings name, and return each thing that failed once."""
    settings, _errors = read_settings()
    builders: list[Callable[[], object]] = [
        partial(database_alias, settings),
        partial(load_lock_provider, settings),
        partial(load_repository, settings),
        *(partial(load_enqueuer, name, settings) for name in enqueuer_names(settings)),
    ]
    failures: dict[str, ConfigurationError] = {}
    for build in builders:
        try:
            build()
        except ConfigurationError as error:
            failures.setdefault(str(error), error)
    return list(failures.values())


def _tables_alias() -> str | None:
    try:
        return database_alias(read_settings()[0])
    except ConfigurationError:
        return None


def _backend_without_workers(name: str) -> str | None:
    """Return the class of the ``TASKS`` backend behind an enqueuer, if it runs tasks by itself."""
    try:
        backend = getattr(load_enqueuer(name, read_settings()[0]), "background_backend", None)
    except ConfigurationError:
        return None
    kind = type(backend).__name__
    return kind if kind in ("ImmediateBackend", "DummyBackend") else None


def _has_table(alias: str, table: str) -> bool:
    connection = connections[alias]
    schema, _, name = table.rpartition(".")
    with connection.cursor() as cursor:
        if not schema:
            return name in connection.introspection.table_names(cursor)
        quoted = ".".join(map(connection.ops.quote_name, (schema, name)))
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [quoted])
        return bool(cursor.fetchone()[0])
