"""Asyncio clients of Redis, made from a URL, a client that blocks, or a django-redis cache."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import redis
from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
from redis.asyncio.connection import UnixDomainSocketConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

_CLASSES: Mapping[type, type] = {
    redis.Connection: Connection,
    redis.SSLConnection: SSLConnection,
    redis.UnixDomainSocketConnection: UnixDomainSocketConnection,
}
_ADDRESS = {"host", "port", "path", "db", "username", "password", "credential_provider", "protocol"}


class RedisClients:
    """One asyncio client for each event loop that asks, since it cannot serve two.

    ``arguments`` are those of an asyncio connection pool. A command is tried twice, half of
    ``timeout_seconds`` each, so that a connection that went stale heals by itself.
    """

    def __init__(self, arguments: Mapping[str, Any], *, timeout_seconds: float) -> None:
        self._arguments = {
            "socket_timeout": timeout_seconds / 2,
            "socket_connect_timeout": timeout_seconds / 2,
            "retry": Retry(NoBackoff(), 1),
            "retry_on_error": [redis.ConnectionError, redis.TimeoutError],
            **arguments,
        }
        self._clients: dict[asyncio.AbstractEventLoop, Redis] = {}

    def current(self) -> Redis:
        """Return the client of the running loop."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            for other in [other for other in list(self._clients) if other.is_closed()]:
                self._clients.pop(other, None)
            client = Redis(connection_pool=ConnectionPool(**self._arguments))
            self._clients[loop] = client
        return client

    async def aclose(self) -> None:
        """Close the client of the running loop; one of another loop is that loop's to close."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            with suppress(redis.RedisError, OSError):
                await client.aclose(close_connection_pool=True)


def arguments_from_url(url: str) -> dict[str, Any]:
    """Read ``redis://``, ``rediss://`` or ``unix://``; raise ``ValueError`` for anything else."""
    return dict(parse_url(url))


def arguments_from_client(client: redis.Redis) -> dict[str, Any]:
    """Read the server, database and credentials of a client that blocks.

    How long it waits and how often it tries again is left out. Raises ``ValueError`` for a kind of
    connection that cannot be carried over, such as one found through a Sentinel.
    """
    pool = client.connection_pool
    connection_class = _CLASSES.get(pool.connection_class)
    if connection_class is None or pool.connection_kwargs.get("redis_connect_func"):
        raise ValueError(
            f"{pool.connection_class.__name__} cannot be carried over to asyncio: give a "
            "redis.asyncio client as redis_client."
        )
    arguments: dict[str, Any] = {"connection_class": connection_class}
    known_to_ssl = inspect.signature(SSLConnection).parameters
    for name, value in pool.connection_kwargs.items():
        if name in _ADDRESS or name in known_to_ssl:
            arguments[name] = value
        elif name.startswith("ssl_") and value:
            raise ValueError(f"{name} cannot be carried over to asyncio.")
    return arguments


def arguments_from_cache(alias: str) -> dict[str, Any]:
    """Read the server, database and credentials of a django-redis cache; the default writes.

    Raises ``ValueError`` if ``alias`` is a cache of another kind.
    """
    from django_redis import get_redis_connection

    try:
        client = get_redis_connection(alias)
    except NotImplementedError as error:
        raise ValueError(f'The cache "{alias}" is no django-redis cache.') from error
    return arguments_from_client(client)
