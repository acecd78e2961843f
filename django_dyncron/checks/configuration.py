"""Whether the settings can be used: no database is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004

from ..conf import (
    ConfigurationError,
    MissingClient,
    UnknownKey,
    database_alias,
    load_enqueuer,
    load_lock_provider,
    load_repository,
    read_settings,
)
from ..conf.enqueuers import enqueuer_names
from ..conf.locks import is_process_local

TAG = "django_dyncron"


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
def check_workers(**_: Any) -> list[CheckMessage]:
    """Warn of queues that run tasks inside the scheduler, or not at all."""
    settings, _errors = read_settings()
    return [
        Warning(
            f'The enqueuer "{name}" uses the {queue}, which has no workers.',
            hint="Choose a backend that has some, or the local enqueuer.",
            id="django_dyncron.W003",
        )
        for name in enqueuer_names(settings)
        if (queue := _queue_without_workers(name))
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


def _queue_without_workers(name: str) -> str:
    """Return what the enqueuer ``name`` sends to, if that runs tasks by itself or never."""
    try:
        return load_enqueuer(name, read_settings()[0]).lacks_workers
    except ConfigurationError:
        return ""
