"""A lock server in virtual time: keys that expire, are flushed, or cannot be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from django_dyncron.core.ports import ILockProvider
from tests.chaos.faults import Weather


@dataclass
class LockServer:
    """Holds each key for its owner until an instant of the loop."""

    held: dict[str, tuple[object, float]] = field(default_factory=dict)

    def take(self, key: str, owner: object, seconds: int) -> bool:
        now = asyncio.get_running_loop().time()
        if key in self.held and self.held[key][1] > now:
            return False
        self.held[key] = (owner, now + seconds)
        return True

    def give_back(self, key: str, owner: object) -> None:
        if key in self.held and self.held[key][0] is owner:
            del self.held[key]

    def flush(self) -> None:
        self.held.clear()


class ServedLocks(ILockProvider):
    """What one replica sees of the server. A failed call may or may not have taken its keys."""

    def __init__(self, server: LockServer, weather: Weather) -> None:
        self._server = server
        self._weather = weather

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        return bool(await self.acquire_locks([lock_key], ttl_seconds))

    async def release_lock(self, lock_key: str) -> None:
        await self.release_locks([lock_key])

    async def acquire_locks(self, lock_keys: Sequence[str], ttl_seconds: int) -> set[str]:
        await self._weather.point("ask")
        self._fail_perhaps()
        taken = {key for key in lock_keys if self._server.take(key, self, ttl_seconds)}
        await self._weather.point("asked")
        self._fail_perhaps()
        return taken

    async def release_locks(self, lock_keys: Sequence[str]) -> None:
        await self._weather.point("release")
        self._fail_perhaps()
        for key in lock_keys:
            self._server.give_back(key, self)

    def _fail_perhaps(self) -> None:
        if self._weather.lock_server_fails():
            raise ConnectionError("the lock server is away")
