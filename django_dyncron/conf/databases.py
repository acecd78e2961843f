"""Which database the tables are in."""

from __future__ import annotations

from django.apps import apps
from django.db import connections, router

from .errors import ConfigurationError, choose, setting_path
from .values import DyncronSettings


def database_alias(settings: DyncronSettings) -> str:
    """Return the alias that admin, commands, scheduler and locks all use.

    It is ``DYNCRON["DATABASE"]`` or else the router's choice for writing cron jobs. Raises
    :class:`ConfigurationError` if there is no such database.
    """
    if settings.database is None:
        chosen: str = router.db_for_write(apps.get_model("django_dyncron", "CronJob"))
        return chosen
    return known_alias(setting_path("DATABASE"), settings.database)


def known_alias(path: str, alias: str) -> str:
    """Return ``alias``, set at ``path``, or raise if ``DATABASES`` does not have it."""
    if alias not in connections.settings:
        raise ConfigurationError(
            path,
            f'is "{alias}", which DATABASES does not have.',
            hint=choose(alias, connections.settings),
        )
    return alias


def database_vendor(alias: str) -> str:
    """Return ``"postgresql"``, ``"sqlite"`` … without connecting."""
    return connections[alias].vendor
