"""Every lock provider, each on a store of its own, ready to be handed to several replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis
import redis.asyncio
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import connections
from django.utils.module_loading import import_string

from django_dyncron.core.ports import ILockProvider
from django_dyncron.locks.memory import MemoryLockProvider
from django_dyncron.locks.redis import RedisLockProvider

POSTGRES = "django_dyncron.locks.postgres.PostgresLockProvider"
SQLITE = "django_dyncron.locks.sqlite.SqliteLockProvider"
REDIS = "django_dyncron.locks.redis.RedisLockProvider"
TABLE = "contract_locks"

IN_A_TABLE = ["sqlite", "postgres"]
BETWEEN_PROCESSES = [*IN_A_TABLE, "postgres_own_connection", "redis"]
BETWEEN_PROVIDERS = [
    *BETWEEN_PROCESSES,
    "redis_cache",
    "redis_sync_client",
    "redis_asyncio_client",
]
EVERY = ["memory", *BETWEEN_PROVIDERS]


def at_each(kinds: list[str]) -> pytest.MarkDecorator:
    """Run a test that takes ``lock_site`` at a site of each of these kinds."""
    return pytest.mark.parametrize("unopened_lock_site", kinds, indirect=True)


@dataclass
class Site:
    """One store of locks. ``replica`` makes the provider of one more process that uses it.

    ``recipe`` tells another process how to make it, ``database_url`` which database that needs.
    """

    replica: Callable[[], Any]
    wait: Callable[[float], Any] = asyncio.sleep
    alias: str | None = None
    database_url: str | None = None
    recipe: tuple[str, dict[str, Any]] | None = None
    opened: list[Any] = field(default_factory=list)

    def provider(self) -> Any:
        """Make a provider that is closed with the site."""
        provider = self.replica()
        self.opened.append(provider)
        return provider

    async def aclose(self) -> None:
        for provider in self.opened:
            await provider.aclose()
        await self._disconnect()

    async def _disconnect(self) -> None:
        if self.alias is not None:
            await sync_to_async(_close)(self.alias)

    def work(self, body: Callable[[ILockProvider], Awaitable[None]]) -> None:
        """Run ``body`` to its end as one more replica would: own provider, loop and connection."""

        async def main() -> None:
            async with ThreadSensitiveContext():
                provider = self.replica()
                try:
                    await body(provider)
                finally:
                    await provider.aclose()
                    await self._disconnect()

        asyncio.run(main())


def _close(alias: str) -> None:
    connections[alias].close()


def memory_site() -> Site:
    """Locks that expire by a clock that is set, shared by whoever has the provider."""
    now = [1_000.0]
    provider = MemoryLockProvider(monotonic=lambda: now[0])

    async def wait(seconds: float) -> None:
        now[0] += seconds

    return Site(replica=lambda: provider, wait=wait)


def table_site(path: str, alias: str, database_url: str, **options: Any) -> Site:
    provider_class = import_string(path)

    def replica() -> Any:
        return provider_class(using=alias, table_name=TABLE, **options)

    recipe = (path, {"table_name": TABLE, **options})
    return Site(replica=replica, alias=alias, database_url=database_url, recipe=recipe)


def redis_site(url: str) -> Site:
    return Site(replica=lambda: RedisLockProvider(url=url), recipe=(REDIS, {"url": url}))


def redis_cache_site() -> Site:
    return Site(replica=lambda: RedisLockProvider(cache="default"))


def redis_sync_client_site(url: str) -> Site:
    def replica() -> RedisLockProvider:
        with redis.Redis.from_url(url) as client:
            return RedisLockProvider(client)

    return Site(replica=replica)


def redis_asyncio_client_site(url: str) -> Site:
    class Closing(RedisLockProvider):
        """Closes the client it was given, which otherwise is its owner's to close."""

        def __init__(self) -> None:
            self.client = redis.asyncio.Redis.from_url(url, decode_responses=True)
            super().__init__(self.client)

        async def aclose(self) -> None:
            await super().aclose()
            await self.client.aclose()

    return Site(replica=Closing)
