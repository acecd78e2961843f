"""A database URL as an entry of ``DATABASES``."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

_ENGINES = {
    "sqlite": "django.db.backends.sqlite3",
    "postgres": "django.db.backends.postgresql",
    "postgresql": "django.db.backends.postgresql",
    "mysql": "django.db.backends.mysql",
    "mariadb": "django.db.backends.mysql",
}


def database_from_url(url: str) -> dict[str, Any]:
    """Read ``postgres://user:password@host:port/name?option=value`` or ``sqlite:///file``.

    As elsewhere, a SQLite path after three slashes is relative and after four absolute. Raises
    :class:`ValueError` for any other scheme.
    """
    parts = urlsplit(url)
    if parts.scheme not in _ENGINES:
        known = ", ".join(_ENGINES)
        raise ValueError(f"DATABASE_URL has the scheme {parts.scheme!r}; use one of {known}.")
    name = unquote(parts.path).removeprefix("/")
    if parts.scheme == "sqlite":
        # A request that reads before it writes would otherwise fail while a scheduler writes.
        options = {"timeout": 20, "transaction_mode": "IMMEDIATE"}
        return {"ENGINE": _ENGINES["sqlite"], "NAME": name, "OPTIONS": options}
    return {
        "ENGINE": _ENGINES[parts.scheme],
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": dict(parse_qsl(parts.query)),
    }
