"""Locks in PostgreSQL: whose clock, how many statements, and who waits for whom."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections
from django.test.utils import CaptureQueriesContext

from django_dyncron.core.exceptions import LockError
from django_dyncron.locks import _table
from django_dyncron.locks.postgres import PostgresLockProvider
from tests.integration.locks.threads import in_threads


async def test_the_time_to_live_is_the_servers_and_starts_when_granted(
    postgres: Any, session: Any
) -> None:
    provider = postgres()
    session.execute("INSERT INTO locks VALUES ('a', '-infinity', 'gone')")
    with session.transaction():
        session.execute("SELECT 1 FROM locks WHERE lock_key = 'a' FOR UPDATE")
        asking = asyncio.create_task(provider.acquire_lock("a", 60))
        await asyncio.sleep(0.6)
        assert not asking.done()

    assert await asking is True
    (left,) = session.execute(
        "SELECT extract(epoch FROM expires_at - clock_timestamp()) FROM locks"
    ).fetchone()
    assert 59.7 < left <= 60


async def test_a_row_kept_locked_by_somebody_else_is_an_error_soon(
    postgres: Any, session: Any, postgres_alias: str
) -> None:
    provider = postgres()
    await provider.acquire_lock("a", 60)
    bodies = [
        lambda: async_to_sync(provider.acquire_locks)(["a", "b"], 60),
        lambda: async_to_sync(provider.release_lock)("a"),
    ]

    with session.transaction():
        session.execute("SELECT 1 FROM locks FOR UPDATE")
        began = time.monotonic()
        errors = await asyncio.to_thread(in_threads, postgres_alias, bodies)
        assert 0.9 < time.monotonic() - began < 4

    assert [type(error) for error in errors] == [LockError, LockError]
    assert all("lock timeout" in str(error) for error in errors)
    assert session.execute("SHOW lock_timeout").fetchone() == ("0",)
    assert await provider.acquire_locks(["a", "b"], 60) == {"b"}


async def test_a_batch_is_one_statement_and_so_is_its_release(
    postgres: Any, postgres_alias: str
) -> None:
    provider = postgres()
    keys = [f"key-{number}" for number in range(1_000)]

    def count() -> int:
        with CaptureQueriesContext(connections[postgres_alias]) as queries:
            async_to_sync(provider.acquire_locks)(keys, 60)
            async_to_sync(provider.release_locks)(keys)
        return len(queries)

    assert await sync_to_async(count)() == 2


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
async def test_replicas_that_want_the_same_keys_never_fail(
    postgres: Any, session: Any, postgres_alias: str, isolation: str
) -> None:
    (database,) = session.execute("SELECT current_database()").fetchone()
    session.execute(f"ALTER DATABASE {database} SET default_transaction_isolation = '{isolation}'")
    keys = [f"key-{number}" for number in range(40)]
    grants: list[str] = []

    def contend(provider: PostgresLockProvider, keys: list[str]) -> None:
        for _ in range(15):
            taken = async_to_sync(provider.acquire_locks)(keys, 60)
            grants.extend(taken)
            async_to_sync(provider.release_locks)(keys)

    bodies = [
        partial(contend, postgres(), order)
        for order in (keys, keys[::-1], keys[20:] + keys[:20], keys[::2])
    ]
    assert await asyncio.to_thread(in_threads, postgres_alias, bodies) == []

    assert len(grants) >= 40
    assert await postgres().acquire_locks(keys, 60) == set(keys)


async def test_expired_rows_are_purged_once_a_minute_a_thousand_at_a_time(
    postgres: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(_table, "monotonic", lambda: now[0])
    provider = postgres()
    session.execute(
        "INSERT INTO locks SELECT 'ended-' || n, '-infinity', 'gone' "
        "FROM generate_series(1, 1500) AS n"
    )
    session.execute("INSERT INTO locks VALUES ('held', 'infinity', 'somebody')")

    def rows() -> int:
        return int(session.execute("SELECT count(*) FROM locks").fetchone()[0])

    await provider.acquire_lock("a", 60)
    assert rows() == 1_502
    now[0] += 60
    await provider.acquire_lock("b", 60)
    assert rows() == 503
    await provider.release_lock("b")
    assert rows() == 2
    session.execute("INSERT INTO locks VALUES ('ended', '-infinity', 'gone')")
    now[0] += 59
    await provider.release_lock("a")
    assert rows() == 2


async def test_a_claim_does_not_wait_for_the_purge(
    postgres: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(_table, "monotonic", lambda: now[0])
    within = postgres().within_claims()
    session.execute("INSERT INTO locks VALUES ('ended', '-infinity', 'gone')")
    now[0] += 60

    await within.acquire_lock("a", 60)
    assert session.execute("SELECT count(*) FROM locks").fetchone() == (2,)
    await within.release_lock("a")
    assert session.execute("SELECT count(*) FROM locks").fetchone() == (0,)
