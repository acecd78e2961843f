"""Locks in Redis or Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import iscoroutinefunction
from typing import Any
from uuid import uuid4

import redis
import redis.asyncio

from ..core.exceptions import LockError
from ..core.ports import ILockProvider
from ._arguments import check_ttl, distinct
from ._owner import Owner
from ._redis_clients import (
    RedisClients,
    arguments_from_cache,
    arguments_from_client,
    arguments_from_url,
)

# The client sends a command again if its answer was lost: then the key is held by this very call.
# A key of another type than text answers GET with an error, and is held by somebody.
_ACQUIRE = """
local taken = {}
for index, key in ipairs(KEYS) do
    if redis.call('SET', key, ARGV[1], 'NX', 'EX', ARGV[2])
            or redis.pcall('GET', key) == ARGV[1] then
        taken[#taken + 1] = index
    end
end
return taken
"""
_RELEASE = """
for _, key in ipairs(KEYS) do
    local value = redis.pcall('GET', key)
    if type(value) == 'string' and string.sub(value, 1, #ARGV[1]) == ARGV[1] then
        redis.call('DEL', key)
    end
end
return 0
"""
_CHUNK = 1_000
"""A script holds up every other client; for a thousand keys that is a few milliseconds."""


class RedisLockProvider(ILockProvider):
    """Locks as keys that expire, on one server: Redis 6.2 or later, or Valkey; no Cluster.

    Give one of ``url``; ``cache``, the alias of a django-redis cache; or ``redis_client``, which
    may be a ``redis.asyncio`` client, used as it is in its own event loop and left open, or a
    ``redis.Redis``, of which the server, database and credentials are taken.

    No call takes longer than ``timeout_seconds``, tries included. Whatever goes wrong is a
    :class:`LockError`. Raises ``ValueError`` for arguments that make no sense, an empty key or a
    time-to-live below one second.
    """

    def __init__(
        self,
        redis_client: redis.Redis | redis.asyncio.Redis | None = None,
        *,
        url: str | None = None,
        cache: str | None = None,
        timeout_seconds: float = 2.0,
    ) -> None:
        if sum(given is not None for given in (redis_client, url, cache)) != 1:
            raise ValueError("Give exactly one of redis_client, url and cache.")
        if timeout_seconds <= 0:
            raise ValueError(f"timeout_seconds must be above 0, not {timeout_seconds!r}.")
        self._owner = Owner()
        self._timeout_seconds = timeout_seconds
        self._clients: RedisClients | None = None
        self._client: Callable[[], Any]
        if redis_client is not None and iscoroutinefunction(redis_client.execute_command):
            self._client = lambda: redis_client
        else:
            arguments = _arguments(redis_client, url, cache)
            self._clients = RedisClients(arguments, timeout_seconds=timeout_seconds)
            self._client = self._clients.current

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        """Take ``lock_key`` for ``ttl_seconds``; return ``False`` if somebody holds it.

        Raises :class:`LockError` for anything else.
        """
        return bool(await self.acquire_locks([lock_key], ttl_seconds))

    async def release_lock(self, lock_key: str) -> None:
        """Give ``lock_key`` back if it is still this provider's."""
        await self.release_locks([lock_key])

    async def acquire_locks(self, lock_keys: Sequence[str], ttl_seconds: int) -> set[str]:
        """Take those of ``lock_keys`` that are free, in one round trip a thousand."""
        keys = distinct(lock_keys)
        check_ttl(ttl_seconds)
        token = f"{self._owner}:{uuid4().hex}"
        taken: set[str] = set()
        try:
            for chunk in _chunks(keys):
                indexes = await self._run(_ACQUIRE, chunk, token, ttl_seconds)
                taken.update(chunk[index - 1] for index in indexes)
        except BaseException:
            if taken:
                with suppress(LockError):
                    await self.release_locks(sorted(taken))
            raise
        return taken

    async def release_locks(self, lock_keys: Sequence[str]) -> None:
        """Give several locks back, in one round trip a thousand."""
        for chunk in _chunks(distinct(lock_keys)):
            await self._run(_RELEASE, chunk, f"{self._owner}:")

    async def aclose(self) -> None:
        """Close the connections that this provider opened for the running event loop."""
        if self._clients is not None:
            await self._clients.aclose()

    async def _run(self, script: str, keys: list[str], *arguments: str | int) -> Any:
        # Sent whole rather than by its hash: one trip, even after the server has been restarted.
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._client().eval(script, len(keys), *keys, *arguments)
        except Exception as error:
            # The clients of Redis and Valkey have no base class in common.
            reason = str(error) or type(error).__name__
            raise LockError(f"The lock server could not be used: {reason}") from error


def _arguments(redis_client: Any, url: str | None, cache: str | None) -> dict[str, Any]:
    if url is not None:
        return arguments_from_url(url)
    if cache is not None:
        return arguments_from_cache(cache)
    return arguments_from_client(redis_client)


def _chunks(keys: list[str]) -> list[list[str]]:
    return [keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK)]
