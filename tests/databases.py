"""Database URLs, to and from what Django keeps in ``DATABASES``, and as an alias for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, unquote, urlsplit


def settings_from_url(url: str) -> dict[str, Any]:
    """Read ``sqlite:////absolute/path`` or ``postgresql://user:password@host:port/name``."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path).removeprefix("/"),
            "OPTIONS": {"timeout": 20},
        }
    if parts.scheme in {"postgres", "postgresql"}:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path).removeprefix("/"),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or "",
            "PORT": str(parts.port or ""),
        }
    raise ValueError(f"not a SQLite or PostgreSQL URL: {url!r}")


def url_from_settings(settings: dict[str, Any]) -> str:
    """Write the URL that :func:`settings_from_url` reads back."""
    if settings["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{quote(str(settings['NAME']))}"
    user = quote(settings["USER"], safe="")
    if settings["PASSWORD"]:
        user += ":" + quote(settings["PASSWORD"], safe="")
    return f"postgresql://{user}@{settings['HOST']}:{settings['PORT']}/{quote(settings['NAME'])}"


@contextmanager
def database_alias(alias: str, url: str) -> Iterator[str]:
    """Make a database known to Django, in every thread of this process, until the block ends."""
    from django.db import DEFAULT_DB_ALIAS, connections

    added = {DEFAULT_DB_ALIAS: {}, alias: settings_from_url(url)}
    connections.settings[alias] = connections.configure_settings(added)[alias]
    try:
        yield alias
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.settings[alias]
