"""Makers of lock providers on real servers; what they made is closed after the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis.asyncio

from django_dyncron.locks.postgres import PostgresLockProvider
from django_dyncron.locks.redis import RedisLockProvider
from tests.databases import database_alias
from tests.integration.locks.threads import disconnect

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker


@pytest.fixture
def alias_of(django_db_blocker: DjangoDbBlocker) -> Iterator[Callable[[str, str], str]]:
    """Make a database known to Django, by URL, until the test ends."""
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        yield lambda alias, url: stack.enter_context(database_alias(alias, url))


@pytest.fixture
async def postgres(postgres_alias: str) -> AsyncIterator[Callable[..., PostgresLockProvider]]:
    """Make a provider; the table ``locks`` is there."""
    made: list[PostgresLockProvider] = []

    def make(table_name: str = "locks", **options: Any) -> PostgresLockProvider:
        made.append(PostgresLockProvider(postgres_alias, table_name, **options))
        return made[-1]

    await make().setup()
    yield make
    for provider in made:
        await provider.aclose()
    await disconnect(postgres_alias)


@pytest.fixture
def session(postgres_database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the database of ``postgres`` that Django knows nothing of."""
    with psycopg.connect(postgres_database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def valkey(redis_url: str) -> AsyncIterator[Callable[..., RedisLockProvider]]:
    """Make a provider, by default on an empty database."""
    made: list[RedisLockProvider] = []

    def make(url: str = redis_url, **options: Any) -> RedisLockProvider:
        made.append(RedisLockProvider(url=url, **options))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[redis.asyncio.Redis]:
    """A client of the test itself on the database of ``valkey``."""
    async with redis.asyncio.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client
