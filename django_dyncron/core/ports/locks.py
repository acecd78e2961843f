"""The port of a lock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class ILockProvider(ABC):
    """A gate that keeps replicas out of each other's way.

    With a durable repository it is only that; with a two-method repository it is the one record
    that a slot was taken.
    """

    @abstractmethod
    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        """Take ``lock_key`` for ``ttl_seconds``; return ``False`` if somebody holds it.

        Raise for anything else: an error is never read as success.
        """

    @abstractmethod
    async def release_lock(self, lock_key: str) -> None:
        """Give ``lock_key`` back if this provider still holds it; otherwise do nothing."""

    async def acquire_locks(self, lock_keys: Sequence[str], ttl_seconds: int) -> set[str]:
        """Take as many of ``lock_keys`` as are free and return those taken.

        If one attempt raises, those taken before it are given back and the error goes on.
        """
        taken: set[str] = set()
        try:
            for lock_key in lock_keys:
                if await self.acquire_lock(lock_key, ttl_seconds):
                    taken.add(lock_key)
        except BaseException:
            await self.release_locks(sorted(taken))
            raise
        return taken

    async def release_locks(self, lock_keys: Sequence[str]) -> None:
        """Give several locks back."""
        for lock_key in lock_keys:
            await self.release_lock(lock_key)

    def within_claims(self) -> ILockProvider:
        """Return the provider to ask while a claim has a database transaction open.

        Only a provider whose locks live in that database has to answer with another one.
        """
        return self

    async def aclose(self) -> None:
        """Close what this provider opened. Called once, after the last lock."""
