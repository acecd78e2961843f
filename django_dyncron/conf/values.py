"""The plain values of ``settings.DYNCRON``: types, ranges and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings as django_settings

from ..core.exceptions import InvalidCronExpression
from ..core.policies import OnLockError
from ..core.schedule import CronSchedule
from .errors import ConfigurationError, UnknownKey, choose, setting_path, shown

DEFAULT_REPOSITORY = "django_dyncron.repositories.orm.DjangoCronJobRepository"
SHORTEST_LOCK_TTL_SECONDS = 60

_YEAR_SECONDS = 366 * 86_400
_LONGEST_SECRET = 1000


@dataclass(frozen=True, slots=True)
class DyncronSettings:
    """The settings as values; each field is the key of ``DYNCRON`` in lower case.

    Durations are in the unit of their name. A ``lock_provider`` or ``enqueuer`` of ``None`` is one
    that was not set, an ``on_lock_error`` of ``None`` leaves the choice to the scheduler, a
    ``run_retention_days`` of ``None`` keeps every run, a ``health_token`` of ``None`` is asked of
    nobody. ``lock_ttl_seconds`` and ``time_zone`` hold the values that count, worked out if they
    were not set.
    """

    lock_provider: str | Mapping[str, Any] | None = None
    enqueuer: str | Mapping[str, Any] | None = None
    enqueuers: Mapping[str, str | Mapping[str, Any]] = field(default_factory=dict)
    repository: str | Mapping[str, Any] = DEFAULT_REPOSITORY
    database: str | None = None
    tick_interval_seconds: float = 30
    catch_up_window_seconds: int = 86_400
    lock_ttl_seconds: int = SHORTEST_LOCK_TTL_SECONDS
    on_lock_error: OnLockError | None = None
    key_prefix: str = "dyncron"
    time_zone: str = "UTC"
    run_retention_days: int | None = 30
    shutdown_grace_seconds: float = 25
    allowed_tasks: tuple[str, ...] = ()
    late_after_seconds: float = 60
    stuck_after_seconds: float = 120
    health_token: str | None = None
    ping_urls: tuple[str, ...] = ()


KEYS = tuple(each.name.upper() for each in fields(DyncronSettings))


def get_settings(**overrides: Any) -> DyncronSettings:
    """Return the settings as they stand now; raise the first :class:`ConfigurationError`.

    ``overrides`` are keys of ``DYNCRON`` that a command line gave; they are checked alike.
    """
    settings, errors = read_settings(overrides)
    if errors:
        raise errors[0]
    return settings


def read_settings(
    overrides: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[DyncronSettings, list[ConfigurationError]]:
    """Return the settings as they stand now and everything wrong; a wrong value is its default."""
    raw = getattr(django_settings, "DYNCRON", {})
    if not isinstance(raw, Mapping):
        problem = f"is {shown(raw)}, not a dict."
        return _complete({}, [ConfigurationError(setting_path(), problem)])
    values: dict[str, Any] = {}
    errors: list[ConfigurationError] = []
    for key, value in {**raw, **overrides}.items():
        if key not in KEYS:
            hint = choose(key, KEYS)
            errors.append(UnknownKey(setting_path(str(key)), "is not a setting.", hint=hint))
            continue
        try:
            values[key.lower()] = _READERS[key](setting_path(key), value)
        except ConfigurationError as error:
            errors.append(error)
    return _complete(values, errors)


def _complete(
    values: dict[str, Any], errors: list[ConfigurationError]
) -> tuple[DyncronSettings, list[ConfigurationError]]:
    if values.get("time_zone") is None:
        values["time_zone"] = django_settings.TIME_ZONE or "UTC"
    tick = values.get("tick_interval_seconds", DyncronSettings().tick_interval_seconds)
    least = max(SHORTEST_LOCK_TTL_SECONDS, -int(-2 * tick // 1))
    given = values.get("lock_ttl_seconds")
    if given is not None and given < least:
        errors.append(
            ConfigurationError(
                setting_path("LOCK_TTL_SECONDS"),
                f"is {given}, shorter than {least}.",
                hint="It must be at least 60 seconds and at least twice TICK_INTERVAL_SECONDS.",
            )
        )
    values["lock_ttl_seconds"] = max(given or 0, least)
    return DyncronSettings(**values), errors


_Reader = Callable[[str, Any], Any]


def _wrong(path: str, value: Any, wanted: str, hint: str = "") -> ConfigurationError:
    return ConfigurationError(path, f"is {shown(value)}, not {wanted}.", hint=hint)


def _number(kind: type, least: float, most: float, *, above: bool = False) -> _Reader:
    what = "a whole number" if kind is int else "a number"
    range_ = f"above {least} and up to {most}" if above else f"from {least} to {most}"

    def read(path: str, value: Any) -> Any:
        fits = isinstance(value, int if kind is int else int | float) and value is not True
        if not fits or value is False or not least <= value <= most or (above and value == least):
            raise _wrong(path, value, f"{what} {range_}")
        return value

    return read


def _or_none(reader: _Reader) -> _Reader:
    return lambda path, value: None if value is None else reader(path, value)


def _name(most: int) -> _Reader:
    def read(path: str, value: Any) -> str:
        if not isinstance(value, str) or not value.isprintable() or not value.strip():
            raise _wrong(path, value, "a name")
        if len(value) > most:
            raise ConfigurationError(path, f"is longer than {most} characters.")
        return value

    return read


def _secret(path: str, value: Any) -> str:
    if isinstance(value, str) and value.isprintable() and 0 < len(value.strip()) <= _LONGEST_SECRET:
        return value
    # What it is instead is not said: it may be the secret, but for a line end.
    problem = f"is not a text of 1 to {_LONGEST_SECRET} printable characters."
    raise ConfigurationError(path, problem)


def _backend(path: str, value: Any) -> Any:
    if isinstance(value, str) and value:
        return value
    if not isinstance(value, Mapping):
        raise _wrong(path, value, "a name, a dotted path or a dict with BACKEND and OPTIONS")
    for key in value:
        if key not in ("BACKEND", "OPTIONS"):
            hint = choose(key, ("BACKEND", "OPTIONS"))
            raise ConfigurationError(f'{path}["{key}"]', "is not a setting.", hint=hint)
    if not isinstance(value.get("BACKEND"), str) or not value["BACKEND"]:
        raise _wrong(f'{path}["BACKEND"]', value.get("BACKEND"), "a name or a dotted path")
    options = value.get("OPTIONS", {})
    if not isinstance(options, Mapping) or not all(isinstance(key, str) for key in options):
        raise _wrong(f'{path}["OPTIONS"]', options, "a dict of keyword arguments")
    return value


def _backends(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(path, value, "a dict of enqueuers by name")
    read_name = _name(100)
    return {
        read_name(f"{path}[{name!r}]", name): _backend(f'{path}["{name}"]', each)
        for name, each in value.items()
    }


def _on_lock_error(path: str, value: Any) -> OnLockError:
    try:
        return OnLockError(value)
    except ValueError:
        choices = [str(choice) for choice in OnLockError]
        raise _wrong(
            path,
            value,
            " or ".join(f'"{choice}"' for choice in choices),
            choose(value, choices),
        ) from None


def _time_zone(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(path, value, 'the name of a time zone such as "Europe/Berlin"')
    try:
        CronSchedule.parse("* * * * *", value)
    except InvalidCronExpression as error:
        raise ConfigurationError(path, f"is {shown(value)}.", hint=str(error)) from error
    return value


def _allowed_tasks(path: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise _wrong(path, value, "a list of patterns")
    for pattern in value:
        if not _is_pattern(pattern):
            raise ConfigurationError(
                path,
                f"holds {shown(pattern)}, which can match no task.",
                hint='Write dotted paths such as "shop.tasks.*", where * is exactly one segment.',
            )
    return tuple(value)


def _ping_urls(path: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise _wrong(path, value, "a list of beginnings of URLs")
    for prefix in value:
        parts = urlsplit(prefix) if isinstance(prefix, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(
                path,
                f"holds {shown(prefix)}, with which no URL begins.",
                hint='Write such as "https://hc-ping.com/", scheme and host included.',
            )
        if not parts.path:
            # Else "https://hc-ping.com" would allow "https://hc-ping.com.example.org", too.
            problem = f"holds {shown(prefix)}, which lacks a slash after the host."
            raise ConfigurationError(path, problem, hint=f'Write "{prefix}/".')
    return tuple(value)


def _is_pattern(pattern: object) -> bool:
    segments = pattern.split(".") if isinstance(pattern, str) else []
    return len(segments) >= 2 and all(each == "*" or each.isidentifier() for each in segments)


_READERS: dict[str, _Reader] = {
    "LOCK_PROVIDER": _or_none(_backend),
    "ENQUEUER": _or_none(_backend),
    "ENQUEUERS": _backends,
    "REPOSITORY": _backend,
    "DATABASE": _or_none(_name(255)),
    "TICK_INTERVAL_SECONDS": _number(float, 0, 3600, above=True),
    "CATCH_UP_WINDOW_SECONDS": _number(int, 60, 10 * _YEAR_SECONDS),
    "LOCK_TTL_SECONDS": _or_none(_number(int, 1, _YEAR_SECONDS)),
    "ON_LOCK_ERROR": _or_none(_on_lock_error),
    "KEY_PREFIX": _name(100),
    "TIME_ZONE": _or_none(_time_zone),
    "RUN_RETENTION_DAYS": _or_none(_number(int, 1, 36_600)),
    "SHUTDOWN_GRACE_SECONDS": _number(float, 0, 3600),
    "ALLOWED_TASKS": _allowed_tasks,
    "LATE_AFTER_SECONDS": _number(float, 0, _YEAR_SECONDS, above=True),
    "STUCK_AFTER_SECONDS": _number(float, 10, _YEAR_SECONDS),
    "HEALTH_TOKEN": _or_none(_secret),
    "PING_URLS": _ping_urls,
}
