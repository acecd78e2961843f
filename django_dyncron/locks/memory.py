"""Locks in the memory of one process, for tests and for a single replica."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ..core.ports import ILockProvider
from ._arguments import check_ttl, distinct

_SWEEP_SECONDS = 60.0


class MemoryLockProvider(ILockProvider):
    """Locks shared by everything in this process that is given this very provider.

    Threads and several event loops may use it at once. ``monotonic`` returns the seconds by which
    locks expire. Raises ``ValueError`` for an empty key or a time-to-live below one second.
    """

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._expires_at: dict[str, float] = {}
        self._sweeps_at = monotonic() + _SWEEP_SECONDS
        self._mutex = threading.Lock()

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        """Take ``lock_key`` for ``ttl_seconds``; return ``False`` if it is held."""
        return bool(await self.acquire_locks([lock_key], ttl_seconds))

    async def release_lock(self, lock_key: str) -> None:
        """Give ``lock_key`` back; nothing happens if it is free."""
        await self.release_locks([lock_key])

    async def acquire_locks(self, lock_keys: Sequence[str], ttl_seconds: int) -> set[str]:
        """Take those of ``lock_keys`` that are free and return them."""
        keys = distinct(lock_keys)
        check_ttl(ttl_seconds)
        with self._mutex:
            now = self._monotonic()
            self._sweep(now)
            taken = {key for key in keys if self._expires_at.get(key, now) <= now}
            self._expires_at.update(dict.fromkeys(taken, now + ttl_seconds))
        return taken

    async def release_locks(self, lock_keys: Sequence[str]) -> None:
        """Give several locks back."""
        keys = distinct(lock_keys)
        with self._mutex:
            for key in keys:
                self._expires_at.pop(key, None)

    def _sweep(self, now: float) -> None:
        # Locks may be left to expire, under keys that never come again.
        if now >= self._sweeps_at:
            self._expires_at = {key: at for key, at in self._expires_at.items() if at > now}
            self._sweeps_at = now + _SWEEP_SECONDS
