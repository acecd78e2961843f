"""The short names of lock providers, and which one it is when none is set."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.conf import settings as django_settings
from django.utils.module_loading import import_string

from ..core.ports import ILockProvider
from .backends import build, split
from .databases import database_alias, database_vendor, known_alias
from .errors import ConfigurationError, choose, setting_path, shown
from .values import DyncronSettings

_PATH = setting_path("LOCK_PROVIDER")
_REDIS = "django_dyncron.locks.redis.RedisLockProvider"
_MEMORY = "django_dyncron.locks.memory.MemoryLockProvider"
_BY_VENDOR = {
    "postgresql": "django_dyncron.locks.postgres.PostgresLockProvider",
    "sqlite": "django_dyncron.locks.sqlite.SqliteLockProvider",
}
_TABLE = "django_dyncron_cronlock"
_NAMES = ("none", "memory", "database", "postgres", "redis")
_SCHEMES = ("redis", "rediss", "unix", "valkey", "valkeys")


def load_lock_provider(settings: DyncronSettings) -> ILockProvider | None:
    """Build the lock provider, or return ``None`` where there is none.

    Unset means the database's own on PostgreSQL and SQLite, none elsewhere. Nothing is connected
    yet. Raises :class:`ConfigurationError`.
    """
    if settings.lock_provider is None:
        supported = database_vendor(database_alias(settings)) in _BY_VENDOR
        return _in_database(settings, "database", {}) if supported else None
    backend, options = split(settings.lock_provider)
    if "://" in backend:
        return _at_url(backend, options)
    if backend == "none":
        return None
    if backend == "memory":
        return _build(_MEMORY, options)
    if backend in ("database", "postgres"):
        return _in_database(settings, backend, options)
    if backend == "redis":
        return _in_redis(options)
    if "." not in backend:
        hint = choose(backend, _NAMES)
        raise ConfigurationError(_PATH, f"is {shown(backend)}, no lock provider.", hint=hint)
    return _build(backend, options, using=lambda: database_alias(settings))


def lock_table(settings: DyncronSettings) -> tuple[str, str] | None:
    """Return database alias and name of the lock table, or ``None`` if the locks need none."""
    backend, options = split(settings.lock_provider or "database")
    if backend not in ("database", "postgres", *_BY_VENDOR.values()):
        return None
    alias = _alias(settings, options)
    return (
        (alias, options.get("table_name", _TABLE)) if database_vendor(alias) in _BY_VENDOR else None
    )


def is_process_local(settings: DyncronSettings) -> bool:
    """Tell whether the locks are seen by this process alone."""
    value = settings.lock_provider
    return value is not None and split(value)[0] in ("memory", _MEMORY)


def _build(target: str, options: dict[str, Any], **defaults: Any) -> ILockProvider:
    provider: ILockProvider = build(_PATH, target, options, ILockProvider, **defaults)  # type: ignore[type-abstract]
    return provider


def _at_url(url: str, options: dict[str, Any]) -> ILockProvider:
    scheme, _, rest = url.partition("://")
    if scheme not in _SCHEMES:
        hint = choose(scheme, _SCHEMES)
        raise ConfigurationError(_PATH, f"is {shown(url)}, which is not known.", hint=hint)
    # Valkey speaks the protocol of Redis, and the client knows only the older name.
    return _build(_REDIS, {"url": f"{scheme.replace('valkey', 'redis')}://{rest}", **options})


def _alias(settings: DyncronSettings, options: dict[str, Any]) -> str:
    if "using" in options:
        return known_alias(f'{_PATH}["OPTIONS"]["using"]', options["using"])
    return database_alias(settings)


def _in_database(settings: DyncronSettings, backend: str, options: dict[str, Any]) -> ILockProvider:
    alias = _alias(settings, options)
    vendor = database_vendor(alias)
    if backend == "postgres" and vendor != "postgresql":
        raise ConfigurationError(
            _PATH, f'is "postgres", but the database "{alias}" is {vendor}.', hint='Use "database".'
        )
    if vendor not in _BY_VENDOR:
        raise ConfigurationError(
            _PATH,
            f'is "database", which the database "{alias}" ({vendor}) does not support.',
            hint='Use "none" (the durable claim is enough) or "redis".',
        )
    return _build(_BY_VENDOR[vendor], options, using=lambda: alias)


def _in_redis(options: dict[str, Any]) -> ILockProvider:
    if {"redis_client", "url", "cache"} & options.keys():
        return _build(_REDIS, options)
    return _build(_REDIS, options, cache=_default_cache)


def _default_cache() -> str:
    backend = django_settings.CACHES.get("default", {}).get("BACKEND", "")
    with suppress(ImportError):
        bases = getattr(import_string(backend), "__mro__", ())
        if any(base.__module__ == "django_redis.cache" for base in bases):
            return "default"
    raise ConfigurationError(
        _PATH,
        'is "redis", but CACHES["default"] is not a django-redis cache.',
        hint='Write a URL instead, such as "redis://localhost:6379/0".',
    )
