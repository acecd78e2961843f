"""Waiting for what a server does in its own time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def settled(read: Callable[[], Awaitable[int]], expected: int) -> int:
    """Read until ``expected`` comes, for at most five seconds; return what was read last."""
    value = await read()
    for _ in range(250):
        if value == expected:
            break
        await asyncio.sleep(0.02)
        value = await read()
    return value
