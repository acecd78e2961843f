"""The gate: what the lock provider's answer, or its silence, means for a batch of slots."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from .definitions import Slot
from .events import LockFailed
from .observers import Observers
from .policies import OnLockError
from .ports import Clock, ILockProvider
from .text import one_line

_PATIENCE_SECONDS = 5.0
"""A lock that takes longer counts as an error: rows may be held locked meanwhile."""
_REST_SECONDS = 5.0
"""After an error the provider is left alone this long, so that an outage costs one time-out."""


class LockGate:
    """Asks ``provider`` for slots and remembers what it took until :meth:`release`."""

    def __init__(
        self,
        provider: ILockProvider,
        *,
        key_prefix: str,
        ttl_seconds: int,
        on_error: OnLockError,
        clock: Clock,
        observers: Observers,
    ) -> None:
        self.ttl_seconds = ttl_seconds
        self._provider = provider
        self._key_prefix = key_prefix
        self._on_error = on_error
        self._clock = clock
        self._observers = observers
        self._held: dict[str, Slot] = {}
        self._asks_again_at = float("-inf")

    async def admit(self, slots: Sequence[Slot]) -> set[Slot]:
        """Return the slots that may be claimed. Never raises, but lets a cancellation through."""
        keys = {slot.lock_key(self._key_prefix): slot for slot in slots}
        if not keys:
            return set()
        if self._clock.monotonic() < self._asks_again_at:
            return set(slots) if self._on_error is OnLockError.CLAIM else set()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                taken = await self._provider.acquire_locks(list(keys), self.ttl_seconds)
        except Exception as error:
            self._leave_alone(error, self._on_error)
            return set(slots) if self._on_error is OnLockError.CLAIM else set()
        self._held |= {key: keys[key] for key in taken}
        return {keys[key] for key in taken}

    async def admit_recent(self, slots: Sequence[Slot], now: datetime) -> set[Slot]:
        """Like :meth:`admit`, but do not ask for slots older than a lock can live.

        Such a lock could only be left over from a replica that died: the claim decides.
        """
        oldest = now - timedelta(seconds=self.ttl_seconds)
        recent = await self.admit([slot for slot in slots if slot.scheduled_for >= oldest])
        return recent.union(slot for slot in slots if slot.scheduled_for < oldest)

    async def release(self, slots: Collection[Slot]) -> None:
        """Give back the locks of ``slots``. A failure is left to the time-to-live."""
        keys = [key for key, slot in self._held.items() if slot in slots]
        self.forget(keys)
        if not keys:
            return
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._provider.release_locks(keys)
        except Exception as error:
            self._leave_alone(error, "expire")

    def forget(self, keys: Collection[str] | None = None) -> None:
        """Keep the locks until they expire."""
        for key in list(self._held) if keys is None else keys:
            self._held.pop(key, None)

    def _leave_alone(self, error: Exception, decision: str) -> None:
        self._asks_again_at = self._clock.monotonic() + _REST_SECONDS
        self._observers.tell(LockFailed(one_line(error, with_type=True), decision))

    async def aclose(self) -> None:
        await self._provider.aclose()


class Passage:
    """One claim's way through ``gate``, if there is one: what was admitted here is released here.

    Another claim may be on its way at the same time.
    """

    def __init__(self, gate: LockGate | None, now: datetime) -> None:
        self._gate = gate
        self._now = now
        self._admitted: set[Slot] = set()

    async def admit(self, slots: Sequence[Slot]) -> set[Slot]:
        """Return the slots that may be claimed."""
        if self._gate is None:
            return set(slots)
        admitted = await self._gate.admit_recent(slots, self._now)
        self._admitted |= admitted
        return admitted

    async def release(self) -> None:
        """Give back the locks that were taken on the way."""
        if self._gate is not None:
            await self._gate.release(self._admitted)
