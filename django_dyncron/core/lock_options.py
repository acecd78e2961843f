"""What a scheduler makes of the options for its locks."""

from __future__ import annotations

import math

from .policies import OnLockError

_SHORTEST_SECONDS = 60


def lock_ttl(ttl_seconds: int | None, tick_interval_seconds: float) -> int:
    """Return how long locks last, in seconds; raise :class:`ValueError` if that is too short."""
    shortest = max(_SHORTEST_SECONDS, math.ceil(2 * tick_interval_seconds))
    if ttl_seconds is None:
        return shortest
    if ttl_seconds < shortest:
        raise ValueError(
            f"lock_ttl_seconds must be at least {shortest} with a tick of "
            f"{tick_interval_seconds} s, not {ttl_seconds}."
        )
    return ttl_seconds


def on_error_policy(value: str | None, is_durable: bool) -> OnLockError:
    """Return what to do when the lock provider fails; raise :class:`ValueError` if unknown."""
    if value is None:
        return OnLockError.CLAIM if is_durable else OnLockError.SKIP
    try:
        return OnLockError(value)
    except ValueError:
        raise ValueError(f"on_lock_error must be 'skip' or 'claim', not {value!r}.") from None
