"""The short names of enqueuers, and the enqueuers by the names that jobs use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ..core.ports import ITaskEnqueuer
from .backends import build, import_class, split
from .errors import ConfigurationError, choose, setting_path, shown
from .values import DyncronSettings

DEFAULT = "default"

_SHORT_NAMES = {
    "local": "django_dyncron.enqueuers.local.LocalTaskEnqueuer",
    "django_tasks": "django_dyncron.enqueuers.django_tasks.DjangoTasksEnqueuer",
    "celery": "django_dyncron.enqueuers.celery.CeleryTaskEnqueuer",
    "rq": "django_dyncron.enqueuers.rq.RqTaskEnqueuer",
    "dramatiq": "django_dyncron.enqueuers.dramatiq.DramatiqTaskEnqueuer",
    "huey": "django_dyncron.enqueuers.huey.HueyTaskEnqueuer",
    "procrastinate": "django_dyncron.enqueuers.procrastinate.ProcrastinateTaskEnqueuer",
}


def load_enqueuers(settings: DyncronSettings) -> dict[str, ITaskEnqueuer]:
    """Build every enqueuer, by name; ``ENQUEUER`` is the one called ``"default"``.

    Raises :class:`ConfigurationError`.
    """
    return {name: load_enqueuer(name, settings) for name in enqueuer_names(settings)}


def load_enqueuer(name: str, settings: DyncronSettings) -> ITaskEnqueuer:
    """Build the enqueuer called ``name``; a blank name is ``"default"``.

    Raises :class:`ConfigurationError`, also for a name that is not configured.
    """
    path, target, options = _target(name or DEFAULT, settings)
    enqueuer: ITaskEnqueuer = build(path, target, options, ITaskEnqueuer)  # type: ignore[type-abstract]
    return enqueuer


def load_hook_modules(settings: DyncronSettings) -> None:
    """Import what every process of the project has to know of its queues, as Django starts."""
    for enqueuer, _ in _classes(settings):
        if enqueuer.hook_module:
            import_module(enqueuer.hook_module)


def load_worker_modules(settings: DyncronSettings) -> None:
    """Import what the workers of each configured queue need to know: hooks, generic tasks."""
    for enqueuer, options in _classes(settings):
        if enqueuer.worker_module:
            module = import_module(enqueuer.worker_module)
            if hasattr(module, "set_up_worker"):
                module.set_up_worker(**options)


def _classes(settings: DyncronSettings) -> Iterator[tuple[type[ITaskEnqueuer], dict[str, Any]]]:
    """Yield the class and the options of each configured enqueuer.

    One that cannot be imported is passed over: the system checks tell of it.
    """
    for name in enqueuer_names(settings):
        try:
            path, target, options = _target(name, settings)
            yield import_class(path, target, ITaskEnqueuer), options  # type: ignore[type-abstract]
        except ConfigurationError:
            continue


def enqueuer_names(settings: DyncronSettings) -> list[str]:
    """Return the names a job may use, ``"default"`` first."""
    return [DEFAULT, *(name for name in settings.enqueuers if name != DEFAULT)]


def _target(name: str, settings: DyncronSettings) -> tuple[str, str, dict[str, Any]]:
    """Return the place of an enqueuer in the settings, the path of its class, its options."""
    path, value = _written(name, settings)
    backend, options = split(value)
    target = _SHORT_NAMES.get(backend, backend)
    if "." not in target:
        hint = choose(backend, _SHORT_NAMES)
        raise ConfigurationError(path, f"is {shown(backend)}, no enqueuer.", hint=hint)
    return path, target, options


def _written(name: str, settings: DyncronSettings) -> tuple[str, str | Mapping[str, Any]]:
    """Return the place of an enqueuer in the settings, and what is written there."""
    path = setting_path("ENQUEUERS", name)
    if name != DEFAULT:
        if name not in settings.enqueuers:
            hint = choose(name, enqueuer_names(settings))
            raise ConfigurationError(path, "is not there.", hint=hint)
        return path, settings.enqueuers[name]
    if DEFAULT not in settings.enqueuers:
        return setting_path("ENQUEUER"), settings.enqueuer or "local"
    if settings.enqueuer is not None:
        raise ConfigurationError(
            path, "and ENQUEUER both set the default enqueuer.", hint="Remove one of them."
        )
    return path, settings.enqueuers[DEFAULT]
