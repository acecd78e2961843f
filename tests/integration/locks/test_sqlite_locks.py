"""Locks in SQLite: its clock, its one writer, and a claim's transaction."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_dyncron.core.exceptions import LockError
from django_dyncron.locks import _table
from django_dyncron.locks.sqlite import SqliteLockProvider
from tests.databases import database_alias
from tests.integration.locks.threads import disconnect, in_threads


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "locks.sqlite3"


@pytest.fixture
def alias(file: Path, django_db_blocker: Any) -> Iterator[str]:
    # A name of its own, because the database thread outlives the test and keeps its connection.
    name = file.parent.name
    with django_db_blocker.unblock(), database_alias(name, f"sqlite:///{file}"):
        # Not waiting shows who retries; what a power failure would do is no matter here.
        connections.settings[name]["OPTIONS"] |= {
            "timeout": 0,
            "init_command": "PRAGMA synchronous = OFF",
        }
        yield name


@pytest.fixture
async def make(alias: str) -> AsyncIterator[Callable[..., SqliteLockProvider]]:
    def make(table_name: str = "locks", **options: Any) -> SqliteLockProvider:
        return SqliteLockProvider(alias, table_name, **options)

    await make().setup()
    yield make
    await disconnect(alias)


@pytest.fixture
def session(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection that Django knows nothing of; its transactions begin when told to."""
    with closing(
        sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    ) as connection:
        yield connection


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Mixed Case", "main.locks_too", "Größe 100%s", "order"])
async def test_a_table_of_any_name(make: Any, session: Any, name: str) -> None:
    provider, other = make(name), make(name)

    await provider.setup()
    await provider.setup()

    assert await provider.acquire_locks(["a", "b"], 60) == {"a", "b"}
    assert await other.acquire_lock("a", 60) is False
    quoted = ".".join(f'"{part}"' for part in name.split("."))
    assert session.execute(f"SELECT count(*) FROM {quoted}").fetchone() == (2,)


@pytest.mark.parametrize("name", ["", ".", "a.b.c", 'x"; DROP TABLE locks; --'])
def test_a_table_name_that_cannot_be_quoted(name: str) -> None:
    with pytest.raises(ValueError, match=r'table_name must be "table" or "schema.table", not'):
        SqliteLockProvider(table_name=name)


async def test_an_older_table_of_two_columns_is_completed(make: Any, session: Any) -> None:
    session.executescript(
        "CREATE TABLE older (lock_key text PRIMARY KEY, expires_at datetime NOT NULL);"
        "INSERT INTO older VALUES ('held', '9999-01-01 00:00:00'), ('ended', '1999-01-01 00:00:00')"
    )
    provider = make("older")
    with pytest.raises(LockError, match=r'"older" is missing or lacks a column: run `manage.py'):
        await provider.acquire_lock("new", 60)

    await provider.setup()

    assert await provider.acquire_locks(["held", "ended", "new"], 60) == {"ended", "new"}


async def test_a_table_that_holds_something_else_is_refused(make: Any, session: Any) -> None:
    session.execute("CREATE TABLE other (id int, owner text)")

    with pytest.raises(LockError, match=r'"other" is no lock table: it lacks expires_at, lock_key'):
        await make("other").setup()


@pytest.mark.parametrize("older", [False, True])
async def test_many_replicas_set_the_table_up_at_once(
    make: Any, alias: str, session: Any, older: bool
) -> None:
    if older:
        session.execute("CREATE TABLE fresh (lock_key text PRIMARY KEY, expires_at datetime)")

    errors = await asyncio.to_thread(
        in_threads, alias, [async_to_sync(make("fresh").setup) for _ in range(8)]
    )

    assert errors == []
    assert await make("fresh").acquire_lock("a", 60) is True


# --- the clock and the statement ------------------------------------------------------------------


async def test_moments_compare_with_those_that_django_writes(
    make: Any, alias: str, session: Any
) -> None:
    now = timezone.now()
    moments = {
        "ended-on-the-second": (now - timedelta(seconds=2)).replace(microsecond=0),
        "just-ended": now - timedelta(milliseconds=20),
        "about-to-end": now + timedelta(milliseconds=500),
        "ends-on-the-second": (now + timedelta(seconds=3)).replace(microsecond=0),
    }

    def write() -> None:
        adapt = connections[alias].ops.adapt_datetimefield_value
        for key, moment in moments.items():
            session.execute("INSERT INTO locks VALUES (?, ?, '')", (key, adapt(moment)))

    await sync_to_async(write)()
    taken = await make().acquire_locks(list(moments), 60)
    assert taken == {"ended-on-the-second", "just-ended"}
    await asyncio.sleep(0.55)
    assert await make().acquire_locks(list(moments), 60) == {"about-to-end"}

    (text,) = session.execute(
        "SELECT expires_at FROM locks WHERE lock_key = 'just-ended'"
    ).fetchone()
    left = datetime.fromisoformat(f"{text}+00:00") - timezone.now()
    assert timedelta(seconds=58) < left <= timedelta(seconds=60)


async def test_a_batch_is_one_statement_and_so_is_its_release(make: Any, alias: str) -> None:
    provider = make()
    keys = [f"key-{number}" for number in range(1_000)]

    def count() -> int:
        with CaptureQueriesContext(connections[alias]) as queries:
            async_to_sync(provider.acquire_locks)(keys, 60)
            async_to_sync(provider.release_locks)(keys)
        return len(queries)

    assert await sync_to_async(count)() == 2


async def test_expired_rows_are_purged_once_a_minute_a_thousand_at_a_time(
    make: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(_table, "monotonic", lambda: now[0])
    provider = make()
    session.execute(
        "WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers LIMIT 1500)"
        "INSERT INTO locks SELECT 'ended-' || n, '1999-01-01 00:00:00', '' FROM numbers"
    )
    session.execute("INSERT INTO locks VALUES ('held', '9999-01-01 00:00:00', '')")

    def rows() -> int:
        return int(session.execute("SELECT count(*) FROM locks").fetchone()[0])

    await provider.acquire_lock("a", 60)
    assert rows() == 1_502
    now[0] += 60
    await provider.acquire_lock("b", 60)
    assert rows() == 503
    await provider.release_lock("b")
    assert rows() == 2


# --- the one writer -------------------------------------------------------------------------------


async def test_a_file_that_is_locked_for_a_moment_is_waited_for(make: Any, session: Any) -> None:
    provider = make()
    session.execute("BEGIN IMMEDIATE")
    asking = asyncio.create_task(provider.acquire_lock("a", 60))
    await asyncio.sleep(0.3)
    assert not asking.done()
    session.execute("COMMIT")

    assert await asking is True


async def test_a_file_that_stays_locked_is_an_error(make: Any, session: Any) -> None:
    provider = make()
    session.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    with pytest.raises(LockError, match="database is locked"):
        await provider.acquire_lock("a", 60)
    assert 0.9 < time.monotonic() - began < 3
    session.execute("ROLLBACK")

    assert await provider.acquire_lock("a", 60) is True


async def test_a_claim_that_fails_takes_its_locks_back(make: Any, alias: str) -> None:
    provider, other = make(), make()
    within = provider.within_claims()

    def claim() -> None:
        with transaction.atomic(using=alias):
            assert async_to_sync(within.acquire_locks)(["a", "b"], 60) == {"a", "b"}
            transaction.set_rollback(True, using=alias)

    await sync_to_async(claim)()

    assert await other.acquire_locks(["a", "b"], 60) == {"a", "b"}


async def test_an_error_within_a_claim_leaves_its_transaction_open(
    make: Any, alias: str, session: Any
) -> None:
    session.execute("CREATE TABLE jobs (id int)")
    nowhere = make("nowhere").within_claims()

    def claim() -> None:
        with transaction.atomic(using=alias):
            with connections[alias].cursor() as cursor:
                cursor.execute("INSERT INTO jobs VALUES (1)")
            with pytest.raises(LockError, match='"nowhere" is missing'):
                async_to_sync(nowhere.acquire_lock)("a", 60)
            with connections[alias].cursor() as cursor:
                cursor.execute("INSERT INTO jobs VALUES (2)")

    await sync_to_async(claim)()

    assert session.execute("SELECT id FROM jobs ORDER BY id").fetchall() == [(1,), (2,)]


async def test_a_file_that_is_no_database_is_an_error(alias: str, file: Path) -> None:
    # While connecting, Django would leave the connection open that failed.
    del connections.settings[alias]["OPTIONS"]["init_command"]
    provider = SqliteLockProvider(alias)
    await asyncio.to_thread(file.write_bytes, b"no database at all" * 100)

    with pytest.raises(LockError, match="file is not a database"):
        await provider.acquire_lock("a", 60)
    await asyncio.to_thread(file.unlink)

    await provider.setup()
    assert await provider.acquire_lock("a", 60) is True
    await disconnect(alias)
