"""Locks in Redis or Valkey: a server that dies, forgets, is silent, full or unheard."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
import redis.asyncio

from django_dyncron.core.exceptions import LockError
from django_dyncron.locks.redis import RedisLockProvider
from tests.integration.locks.relay import Relay
from tests.servers import ValkeyServer


async def test_everything_forgotten_is_everything_free(
    valkey: Any, disposable_valkey: ValkeyServer
) -> None:
    holder, other = valkey(disposable_valkey.url), valkey(disposable_valkey.url)
    await holder.acquire_locks(["dyncron:a", "dyncron:b"], 60)

    disposable_valkey.flush()

    assert await other.acquire_lock("dyncron:a", 60) is True
    await holder.release_locks(["dyncron:a", "dyncron:b"])
    assert await holder.acquire_locks(["dyncron:a", "dyncron:b"], 60) == {"dyncron:b"}


async def test_a_killed_server_is_an_error_until_it_is_back(
    valkey: Any, disposable_valkey: ValkeyServer
) -> None:
    provider = valkey(disposable_valkey.url)
    await provider.acquire_lock("dyncron:a", 60)

    disposable_valkey.kill()
    for _ in range(2):
        with pytest.raises(LockError, match="The lock server could not be used: ") as caught:
            await provider.acquire_lock("dyncron:b", 60)
        assert caught.value.__cause__ is not None
        with pytest.raises(LockError):
            await provider.release_lock("dyncron:a")

    disposable_valkey.restart()
    assert await provider.acquire_locks(["dyncron:a", "dyncron:b"], 60) == {
        "dyncron:a",
        "dyncron:b",
    }


async def test_a_stale_connection_heals_by_itself(valkey: Any, client: Any) -> None:
    provider = valkey()
    await provider.acquire_lock("dyncron:a", 60)
    await client.client_kill_filter(_type="normal", skipme=True)

    assert await provider.acquire_locks(["dyncron:a", "dyncron:b"], 60) == {"dyncron:b"}


async def test_a_lock_whose_answer_was_lost_is_ours(valkey: Any, redis_url: str) -> None:
    async with Relay(redis_url).serving() as relay:
        provider, other = valkey(relay.url), valkey()
        await provider.acquire_lock("dyncron:warm", 60)

        relay.answers_to_lose = 1
        assert await provider.acquire_lock("dyncron:a", 60) is True
        assert relay.answers_to_lose == 0
        assert await other.acquire_lock("dyncron:a", 60) is False

        await other.acquire_lock("dyncron:b", 60)
        relay.answers_to_lose = 1
        assert await provider.acquire_locks(["dyncron:a", "dyncron:b"], 60) == set()
        await provider.aclose()


async def test_a_lock_never_heard_of_can_be_given_back(valkey: Any, redis_url: str) -> None:
    async with Relay(redis_url).serving() as relay:
        provider, other = valkey(relay.url), valkey()
        relay.answers_to_lose = 2
        with pytest.raises(LockError):
            await provider.acquire_lock("dyncron:a", 60)
        assert await other.acquire_lock("dyncron:a", 60) is False

        await provider.release_lock("dyncron:a")

        assert await other.acquire_lock("dyncron:a", 60) is True
        await provider.aclose()


async def test_a_silent_server_is_an_error_in_time(valkey: Any, redis_url: str) -> None:
    async with Relay(redis_url).serving() as relay:
        patient = redis.asyncio.Redis.from_url(relay.url, socket_timeout=600)
        ours = valkey(relay.url, timeout_seconds=0.4)
        theirs = RedisLockProvider(patient, timeout_seconds=0.4)
        await ours.acquire_lock("dyncron:a", 60)
        relay.is_silent = True
        for provider in (ours, theirs):
            began = time.monotonic()
            with pytest.raises(LockError):
                await provider.acquire_lock("dyncron:b", 60)
            assert time.monotonic() - began < 1.5

        relay.is_silent = False
        for provider in (ours, theirs):
            assert await provider.acquire_lock("dyncron:a", 60) is False
        await ours.aclose()
        await patient.aclose()


async def test_a_cancellation_passes_through(valkey: Any, redis_url: str) -> None:
    async with Relay(redis_url).serving() as relay:
        provider = valkey(relay.url, timeout_seconds=30)
        await provider.acquire_lock("dyncron:a", 60)
        relay.is_silent = True
        asking = asyncio.create_task(provider.acquire_lock("dyncron:b", 60))
        await asyncio.sleep(0.05)

        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

        relay.is_silent = False
        assert await provider.acquire_lock("dyncron:b", 60) is True
        await provider.aclose()


async def test_a_server_without_memory_left_is_an_error(
    valkey: Any, disposable_valkey: ValkeyServer
) -> None:
    provider = valkey(disposable_valkey.url)
    async with redis.asyncio.Redis.from_url(disposable_valkey.url) as client:
        await client.config_set("maxmemory", 1)

    with pytest.raises(LockError, match="maxmemory"):
        await provider.acquire_lock("dyncron:a", 60)


async def test_a_wrong_password_is_an_error(valkey: Any, redis_url: str) -> None:
    provider = valkey(redis_url.replace("redis://", "redis://nobody:wrong@"))

    with pytest.raises(LockError, match=r"could not be used: .*password"):
        await provider.acquire_lock("dyncron:a", 60)
