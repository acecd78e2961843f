"""Locks in Redis or Valkey: what is kept under a key, and how many commands that takes."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from django_dyncron.core.exceptions import LockError
from django_dyncron.locks.redis import RedisLockProvider


async def test_a_lock_is_a_key_that_expires(valkey: Any, client: Any) -> None:
    provider = valkey()
    await provider.acquire_lock("dyncron:a", 60)

    assert 59_000 < await client.pttl("dyncron:a") <= 60_000
    assert await client.keys("*") == ["dyncron:a"]
    await client.set("dyncron:a", "somebody else", keepttl=True)
    await provider.release_lock("dyncron:a")
    assert await client.get("dyncron:a") == "somebody else"


async def test_a_key_used_for_something_else_is_held(valkey: Any, client: Any) -> None:
    provider = valkey()
    await client.rpush("dyncron:list", "x")

    assert await provider.acquire_locks(["dyncron:a", "dyncron:list"], 60) == {"dyncron:a"}
    await provider.release_locks(["dyncron:a", "dyncron:list"])

    assert await client.keys("*") == ["dyncron:list"]


async def test_a_thousand_keys_are_one_command(valkey: Any, client: Any) -> None:
    provider = valkey()
    keys = [f"dyncron:{number}" for number in range(1_000)]
    await provider.acquire_lock("dyncron:first", 60)

    async def scripts() -> int:
        return int((await client.info("commandstats"))["cmdstat_eval"]["calls"])

    before = await scripts()
    assert await provider.acquire_locks(keys, 60) == set(keys)
    assert await scripts() == before + 1
    await provider.release_locks(keys)
    assert await scripts() == before + 2


async def test_a_batch_that_fails_half_way_is_given_back() -> None:
    class Failing:
        """A client that answers the first script and releases, but no second acquiring."""

        def __init__(self) -> None:
            self.released: list[str] = []
            self.acquired = 0

        async def execute_command(self, *arguments: Any) -> None: ...

        async def eval(self, script: str, count: int, *given: Any) -> Any:
            if "'NX'" not in script:
                self.released += given[:count]
                return 0
            self.acquired += 1
            if self.acquired == 2:
                raise redis.ConnectionError("gone")
            return [1, 3]

    client = Failing()
    keys = [f"dyncron:{number:04}" for number in range(1_500)]

    with pytest.raises(LockError, match="gone"):
        await RedisLockProvider(client).acquire_locks(keys, 60)  # type: ignore[arg-type]

    assert client.released == ["dyncron:0000", "dyncron:0002"]
