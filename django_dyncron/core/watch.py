"""The watch for pauses of everything: asks the store no more often than slots or people need it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from .pauses import PausedSpan
from .ports import Clock, IDurableCronJobRepository

_GOOD_FOR_SECONDS = 1.0
"""So soon a pause is heeded by a scheduler that works off a backlog."""


class PauseWatch:
    """Knows the pauses in ``repository``."""

    def __init__(self, repository: IDurableCronJobRepository, clock: Clock) -> None:
        self._repository = repository
        self._clock = clock
        self._pauses: Sequence[PausedSpan] = ()
        self._minute: datetime | None = None
        self._asks_again_at = float("-inf")

    async def pauses(self, now: datetime) -> Sequence[PausedSpan]:
        """Return the pauses by which to judge slots up to ``now``, the store's time.

        What was read in the same minute tells all about them: no slot has come since.
        """
        minute, instant = now.replace(second=0, microsecond=0), self._clock.monotonic()
        if minute != self._minute or instant >= self._asks_again_at:
            self._pauses = await self._repository.pauses(now)
            self._minute, self._asks_again_at = minute, instant + _GOOD_FOR_SECONDS
        return self._pauses
