"""Whatever is named by a string or by ``BACKEND`` and ``OPTIONS``, built from what is written."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from django.utils.module_loading import import_string

from ..core.ports import ICronJobRepository
from .databases import database_alias
from .errors import ConfigurationError, MissingClient, choose, setting_path, shown
from .values import DyncronSettings

T = TypeVar("T")

_EXTRAS = {
    "redis": "redis",
    "psycopg": "postgres",
    "psycopg2": "postgres",
    "django_redis": "django-redis",
    "django_tasks": "django-tasks",
    "celery": "celery",
    "rq": "rq",
    "django_rq": "django-rq",
    "dramatiq": "dramatiq",
    "django_dramatiq": "dramatiq",
    "huey": "huey",
    "procrastinate": "procrastinate",
}
"""Importable name of a client library -> the extra that installs it."""


def load_repository(settings: DyncronSettings) -> ICronJobRepository:
    """Build the repository; one that takes a ``using`` is given the alias of the tables."""
    backend, options = split(settings.repository)
    path = setting_path("REPOSITORY")
    repository: ICronJobRepository = build(
        path,
        backend,
        options,
        ICronJobRepository,  # type: ignore[type-abstract]
        using=lambda: database_alias(settings),
    )
    return repository


def split(value: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return backend and options of either way to write them."""
    if isinstance(value, str):
        return value, {}
    return value["BACKEND"], dict(value.get("OPTIONS", {}))


def build(path: str, target: str, options: Mapping[str, Any], port: type[T], **defaults: Any) -> T:
    """Import the class ``target`` and call it with ``options`` as keyword arguments.

    ``defaults`` are functions, called for what the class takes and the options leave out. Raises
    :class:`ConfigurationError` with the place in the settings for everything that can be wrong.
    """
    factory = import_class(path, target, port)
    if inspect.isabstract(factory):
        missing = ", ".join(sorted(getattr(factory, "__abstractmethods__", ())))
        raise ConfigurationError(path, f"is {shown(target)}, which lacks {missing}.")
    parameters = inspect.signature(factory).parameters
    _refuse_unknown_options(path, target, parameters, options)
    arguments = {
        **{
            name: default()
            for name, default in defaults.items()
            if name in parameters and name not in options
        },
        **options,
    }
    try:
        inspect.signature(factory).bind(**arguments)
        return factory(**arguments)
    except ImportError as error:
        raise _import_failed(path, target, error) from error
    except Exception as error:
        raise ConfigurationError(
            f'{path}["OPTIONS"]' if options else path, f"does not suit {shown(target)}: {error}"
        ) from error


def import_class(path: str, target: str, port: type[T]) -> type[T]:
    """Import the class ``target`` of ``port``; raise :class:`ConfigurationError` at ``path``."""
    factory = _import(path, target)
    if not (inspect.isclass(factory) and issubclass(factory, port)):
        raise ConfigurationError(path, f"is {shown(target)}, not a class of {port.__name__}.")
    return factory


def _refuse_unknown_options(
    path: str,
    target: str,
    parameters: Mapping[str, inspect.Parameter],
    options: Mapping[str, Any],
) -> None:
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return
    for name in options:
        if name not in parameters:
            raise ConfigurationError(
                f'{path}["OPTIONS"]["{name}"]',
                f"is not an option of {target.rpartition('.')[2]}.",
                hint=choose(name, parameters),
            )


def _import(path: str, target: str) -> Any:
    try:
        return import_string(target)
    except Exception as error:
        raise _import_failed(path, target, error) from error


def _import_failed(path: str, target: str, error: Exception) -> ConfigurationError:
    client = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and client in _EXTRAS:
        return MissingClient(
            path,
            f'needs the Python package "{client}", which is not installed.',
            hint=f'Install it with: pip install "django-dyncron[{_EXTRAS[client]}]"',
        )
    return ConfigurationError(path, f"is {shown(target)}, which cannot be imported: {error}")
