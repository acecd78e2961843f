"""A lock provider of your own: locks in a cache of Django's."""

from __future__ import annotations

import time
from hashlib import sha256

from django.core.cache import caches

from django_dyncron import ILockProvider


class CacheLockProvider(ILockProvider):
    """Keeps locks in a cache that adds a key atomically, such as Memcached."""

    def __init__(self, cache: str = "default") -> None:
        self._cache = cache
        self._ends: dict[str, float] = {}

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        asked_at = time.monotonic()
        if not await caches[self._cache].aadd(_short(lock_key), "held", ttl_seconds):
            return False
        self._ends[lock_key] = asked_at + ttl_seconds
        return True

    async def release_lock(self, lock_key: str) -> None:
        # A cache deletes without asking whose key it is. So one that may have expired, and be
        # somebody else's by now, is left alone.
        if time.monotonic() < self._ends.pop(lock_key, 0.0) - 1:
            await caches[self._cache].adelete(_short(lock_key))


def _short(lock_key: str) -> str:
    """Return a key that every cache takes: a job id may be long and hold spaces."""
    return sha256(lock_key.encode()).hexdigest()
