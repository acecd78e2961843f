"""Locks in Redis or Valkey: which server is meant, and whose connections are used."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.sentinel

from django_dyncron.locks import _redis_clients
from django_dyncron.locks.redis import RedisLockProvider
from tests.integration.locks.patience import settled


def test_exactly_one_place_is_given() -> None:
    with pytest.raises(ValueError, match="Give exactly one of redis_client, url and cache"):
        RedisLockProvider()
    with pytest.raises(ValueError, match="Give exactly one of redis_client, url and cache"):
        RedisLockProvider(url="redis://127.0.0.1", cache="default")


@pytest.mark.parametrize("url", ["http://127.0.0.1", "127.0.0.1:6379", ""])
def test_a_url_of_another_kind(url: str) -> None:
    with pytest.raises(ValueError, match="Redis URL must specify one of the following schemes"):
        RedisLockProvider(url=url)


@pytest.mark.parametrize("timeout_seconds", [0, -1])
def test_a_timeout_that_makes_no_sense(timeout_seconds: float) -> None:
    with pytest.raises(ValueError, match="timeout_seconds must be above 0"):
        RedisLockProvider(url="redis://127.0.0.1", timeout_seconds=timeout_seconds)


def test_a_cache_of_another_kind(settings: Any) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

    with pytest.raises(ValueError, match='The cache "default" is no django-redis cache'):
        RedisLockProvider(cache="default")


def test_a_client_that_cannot_be_carried_over() -> None:
    sentinel: Any = redis.sentinel.Sentinel([("127.0.0.1", 26379)])  # type: ignore[no-untyped-call]
    with pytest.raises(ValueError, match=r"give a redis\.asyncio client as redis_client"):
        RedisLockProvider(sentinel.master_for("mymaster"))
    checking = redis.Redis(ssl=True, ssl_validate_ocsp=True)
    with pytest.raises(ValueError, match="ssl_validate_ocsp cannot be carried over"):
        RedisLockProvider(checking)
    greeting = redis.Redis(redis_connect_func=lambda: None)
    with pytest.raises(ValueError, match="cannot be carried over"):
        RedisLockProvider(greeting)


def test_what_is_taken_from_a_client_that_blocks() -> None:
    plain = redis.Redis(
        host="cache.example", port=6380, db=3, username="app", password="pw", socket_timeout=99
    )
    secure = redis.Redis.from_url("rediss://cache.example/1?ssl_cert_reqs=none&ssl_ca_certs=/ca")
    local = redis.Redis(unix_socket_path="/run/redis.sock", db=2)

    arguments = _redis_clients.arguments_from_client(plain)
    assert arguments["connection_class"] is redis.asyncio.Connection
    assert {name: arguments[name] for name in ("host", "port", "db", "username", "password")} == {
        "host": "cache.example",
        "port": 6380,
        "db": 3,
        "username": "app",
        "password": "pw",
    }
    assert "socket_timeout" not in arguments
    arguments = _redis_clients.arguments_from_client(secure)
    assert arguments["connection_class"] is redis.asyncio.SSLConnection
    connection = redis.asyncio.SSLConnection(
        **{name: value for name, value in arguments.items() if name != "connection_class"}
    )
    assert connection.ssl_context.cert_reqs == ssl.CERT_NONE
    assert connection.ssl_context.ca_certs == "/ca"
    arguments = _redis_clients.arguments_from_client(local)
    assert arguments["connection_class"] is redis.asyncio.connection.UnixDomainSocketConnection
    assert (arguments["path"], arguments["db"]) == ("/run/redis.sock", 2)


async def test_every_event_loop_has_connections_of_its_own(valkey: Any, client: Any) -> None:
    provider = valkey()

    async def clients() -> int:
        return len(await client.client_list(_type="normal"))

    before = await clients()
    await provider.acquire_lock("dyncron:a", 60)
    for _ in range(2):

        async def elsewhere() -> bool:
            taken: bool = await provider.acquire_lock("dyncron:a", 60)
            await provider.aclose()
            return taken

        assert await asyncio.to_thread(asyncio.run, elsewhere()) is False
    assert await settled(clients, before + 1) == before + 1
    await provider.aclose()
    assert await settled(clients, before) == before

    assert await provider.acquire_lock("dyncron:b", 60) is True


async def test_a_client_that_was_given_is_left_open(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        provider = RedisLockProvider(client)
        await provider.acquire_lock("dyncron:a", 60)
        connection = client.connection_pool._available_connections[0]

        await provider.aclose()

        assert connection.is_connected
        assert await provider.acquire_lock("dyncron:b", 60) is True
