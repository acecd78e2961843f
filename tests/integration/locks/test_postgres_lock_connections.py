"""Locks in PostgreSQL: on which connection, and what happens when it is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections, transaction

from django_dyncron.core.exceptions import LockError
from django_dyncron.locks.postgres import PostgresLockProvider
from tests.integration.locks.patience import settled
from tests.integration.locks.threads import disconnect, in_threads
from tests.servers import PostgresServer


@contextmanager
def claiming(alias: str) -> Iterator[None]:
    """Hold a row of ``jobs`` in an open transaction, as a claim does."""
    with transaction.atomic(using=alias):
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT id FROM jobs FOR UPDATE")
        yield


async def test_a_claim_takes_locks_on_a_second_connection_in_its_own_thread(
    postgres: Any, session: Any, postgres_alias: str
) -> None:
    session.execute("CREATE TABLE jobs (id int); INSERT INTO jobs VALUES (1)")
    provider, other = postgres(), postgres()
    within = provider.within_claims()
    threads: list[int] = []

    def note_thread(execute: Any, *given: Any) -> Any:
        threads.append(threading.get_ident())
        return execute(*given)

    def claim() -> None:
        with claiming(postgres_alias):
            assert async_to_sync(within.acquire_locks)(["c"], 60) == {"c"}
            assert within._own is not None
            with within._own.execute_wrapper(note_thread):
                assert async_to_sync(within.acquire_locks)(["a", "b"], 60) == {"a", "b"}
            held = session.execute("SELECT lock_key FROM locks ORDER BY lock_key").fetchall()
            assert held == [("a",), ("b",), ("c",)]
            threads.append(threading.get_ident())
            transaction.set_rollback(True, using=postgres_alias)

    await sync_to_async(claim)()

    assert len(threads) == 2
    assert threads[0] == threads[1] != threading.get_ident()
    assert await other.acquire_locks(["a", "b"], 60) == set()
    await within.release_locks(["a", "b"])
    assert await other.acquire_locks(["a", "b"], 60) == {"a", "b"}


async def test_the_second_connection_is_opened_once_and_closed_in_the_end(
    postgres: Any, session: Any
) -> None:
    async def sessions() -> int:
        statement = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        return int(session.execute(statement).fetchone()[0])

    provider = postgres()
    before = await sessions()
    within = provider.within_claims()
    assert await sessions() == before

    for number in range(5):
        await within.acquire_lock(f"key-{number}", 60)
    assert await sessions() == before + 1

    await asyncio.to_thread(async_to_sync(provider.aclose))
    assert await settled(sessions, before) == before
    assert await within.acquire_lock("later", 60) is True


async def test_the_second_connection_commits_by_itself_and_comes_from_no_pool(
    postgres: Any, session: Any, postgres_alias: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = connections.settings[postgres_alias]
    provider = postgres(own_connection=True)
    with monkeypatch.context() as patch:
        patch.setitem(settings, "AUTOCOMMIT", False)
        patch.setitem(settings, "OPTIONS", {"pool": {"max_size": 1}})

        assert await provider.acquire_lock("a", 60) is True
        assert settings["OPTIONS"] == {"pool": {"max_size": 1}}

    assert session.execute("SELECT lock_key FROM locks").fetchall() == [("a",)]


async def test_threads_may_share_the_second_connection(postgres: Any, postgres_alias: str) -> None:
    provider = postgres(own_connection=True)
    taken: list[str] = []
    keys = [f"key-{number}" for number in range(50)]

    def take() -> None:
        taken.extend(key for key in keys if async_to_sync(provider.acquire_lock)(key, 60))

    assert await asyncio.to_thread(in_threads, postgres_alias, [take] * 4) == []
    assert sorted(taken) == sorted(keys)


@pytest.mark.parametrize("own_connection", [False, True])
async def test_a_killed_connection_is_an_error_once(
    postgres: Any, session: Any, own_connection: bool
) -> None:
    provider = postgres(own_connection=own_connection)
    await provider.acquire_lock("a", 60)
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )

    with pytest.raises(LockError, match=r'The lock table "locks" could not be used: ') as caught:
        await provider.acquire_lock("b", 60)

    assert caught.value.__cause__ is not None
    assert await provider.acquire_locks(["a", "b"], 60) == {"b"}
    await provider.release_lock("a")
    assert await provider.acquire_lock("a", 60) is True


async def test_a_claim_outlives_its_killed_lock_connection(
    postgres: Any, session: Any, postgres_alias: str
) -> None:
    session.execute("CREATE TABLE jobs (id int); INSERT INTO jobs VALUES (1)")
    within = postgres().within_claims()

    def claim() -> None:
        with claiming(postgres_alias):
            async_to_sync(within.acquire_locks)(["a"], 60)
            session.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND query LIKE '%INSERT INTO \"locks\"%' "
                "AND pid <> pg_backend_pid()"
            )
            with pytest.raises(LockError):
                async_to_sync(within.acquire_locks)(["b"], 60)
            assert async_to_sync(within.acquire_locks)(["a", "b"], 60) == {"b"}
            with connections[postgres_alias].cursor() as cursor:
                cursor.execute("UPDATE jobs SET id = 2")

    await sync_to_async(claim)()

    assert session.execute("SELECT id FROM jobs").fetchone() == (2,)


async def test_a_stopped_server_is_an_error_until_it_is_back(
    disposable_postgres: PostgresServer, alias_of: Callable[[str, str], str]
) -> None:
    alias = alias_of("postgres_outage", disposable_postgres.create_database("outage"))
    provider = PostgresLockProvider(alias)
    within = provider.within_claims()
    await provider.setup()
    await provider.acquire_lock("a", 60)
    await within.acquire_lock("b", 60)

    disposable_postgres.shut_down()
    for each in (provider, within, provider, within):
        with pytest.raises(LockError, match="could not be used"):
            await each.acquire_lock("c", 60)
        with pytest.raises(LockError, match="could not be used"):
            await each.release_lock("a")

    disposable_postgres.restart()
    assert await provider.acquire_locks(["a", "b", "c"], 60) == {"c"}
    await within.release_locks(["a", "b", "c"])
    assert await within.acquire_locks(["a", "b", "c"], 60) == {"a", "b", "c"}
    await provider.aclose()
    await disconnect(alias)


@pytest.mark.parametrize("own_connection", [False, True])
async def test_a_server_that_was_never_there_is_an_error(
    alias_of: Callable[[str, str], str], own_connection: bool
) -> None:
    alias = alias_of("postgres_nowhere", "postgresql://nobody:@127.0.0.1:1/nowhere")
    provider = PostgresLockProvider(alias, own_connection=own_connection)

    with pytest.raises(LockError, match="could not be used"):
        await provider.acquire_lock("a", 60)
    with pytest.raises(LockError, match="could not be used"):
        await provider.setup()
