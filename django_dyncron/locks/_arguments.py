"""What every lock provider demands of the keys and the time-to-live it is given."""

from __future__ import annotations

from collections.abc import Iterable


def distinct(lock_keys: Iterable[object]) -> list[str]:
    """Return the keys once each, sorted; raise ``ValueError`` for one that is empty or no text."""
    keys: set[str] = set()
    for key in lock_keys:
        if not isinstance(key, str) or not key:
            raise ValueError(f"lock_key must be a text that is not empty, not {key!r}.")
        keys.add(key)
    return sorted(keys)


def check_ttl(ttl_seconds: object) -> None:
    """Raise ``ValueError`` unless ``ttl_seconds`` is a whole number of seconds, at least one."""
    if not isinstance(ttl_seconds, int) or isinstance(ttl_seconds, bool) or ttl_seconds < 1:
        raise ValueError(f"ttl_seconds must be a whole number, at least 1, not {ttl_seconds!r}.")
