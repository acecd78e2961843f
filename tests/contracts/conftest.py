"""Stores of locks, opened for a test and closed after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections

from tests.contracts import lock_sites
from tests.contracts.lock_sites import Site
from tests.databases import database_alias

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker


@pytest.fixture
def sqlite_locks(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[str, str]]:
    """Alias and URL of an empty SQLite file."""
    url = f"sqlite:///{tmp_path / 'locks.sqlite3'}"
    # A name of its own, because the database thread outlives the test and keeps its connection.
    with django_db_blocker.unblock(), database_alias(tmp_path.name, url) as alias:
        # What a power failure would do is no matter here; waiting for the disk takes long.
        connections.settings[alias]["OPTIONS"]["init_command"] = "PRAGMA synchronous = OFF"
        yield alias, url


@pytest.fixture
def unopened_lock_site(request: pytest.FixtureRequest) -> Site:
    return _make(request.param, request.getfixturevalue)


@pytest.fixture
async def lock_site(unopened_lock_site: Site) -> AsyncIterator[Site]:
    """A store of locks of the kind that ``at_each`` asks for."""
    if unopened_lock_site.alias is not None:
        await unopened_lock_site.provider().setup()
    yield unopened_lock_site
    await unopened_lock_site.aclose()


def _make(kind: str, fixture: Callable[[str], Any]) -> Site:
    if kind == "memory":
        return lock_sites.memory_site()
    if kind == "sqlite":
        return lock_sites.table_site(lock_sites.SQLITE, *fixture("sqlite_locks"))
    if kind.startswith("postgres"):
        alias, url = fixture("postgres_alias"), fixture("postgres_database_url")
        options = {"own_connection": True} if kind == "postgres_own_connection" else {}
        return lock_sites.table_site(lock_sites.POSTGRES, alias, url, **options)
    url = fixture("redis_url")
    if kind == "redis_cache":
        cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url, "KEY_PREFIX": "x"}
        fixture("settings").CACHES = {"default": cache}
        return lock_sites.redis_cache_site()
    makers = {
        "redis": lock_sites.redis_site,
        "redis_sync_client": lock_sites.redis_sync_client_site,
        "redis_asyncio_client": lock_sites.redis_asyncio_client_site,
    }
    return makers[kind](url)
