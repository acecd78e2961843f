"""The lock table in PostgreSQL: names, ages and roles."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from django_dyncron.core.exceptions import LockError
from django_dyncron.locks.postgres import PostgresLockProvider
from tests.integration.locks.threads import in_threads


@pytest.mark.parametrize("name", ["Mixed Case", "ops.locks", "Größe.100%s", "order"])
async def test_a_table_of_any_name(postgres: Any, session: Any, name: str) -> None:
    for schema in ("ops", "Größe"):
        session.execute(f'CREATE SCHEMA "{schema}"')
    provider, other = postgres(name), postgres(name)

    await provider.setup()
    await provider.setup()

    assert await provider.acquire_locks(["a", "b"], 60) == {"a", "b"}
    assert await other.acquire_lock("a", 60) is False
    await provider.release_lock("a")
    assert await other.acquire_lock("a", 60) is True
    quoted = ".".join(f'"{part}"' for part in name.split("."))
    assert session.execute(f"SELECT count(*) FROM {quoted}").fetchone() == (2,)


@pytest.mark.parametrize("name", ["", ".", "a.", ".b", "a.b.c", 'x"; DROP TABLE locks; --'])
def test_a_table_name_that_cannot_be_quoted(name: str) -> None:
    with pytest.raises(ValueError, match=r'table_name must be "table" or "schema.table", not'):
        PostgresLockProvider(table_name=name)


async def test_an_older_table_of_two_columns_is_completed(postgres: Any, session: Any) -> None:
    session.execute(
        "CREATE TABLE older (lock_key text PRIMARY KEY, expires_at timestamptz NOT NULL);"
        "INSERT INTO older VALUES ('held', 'infinity'), ('ended', '-infinity')"
    )
    provider = postgres("older")
    with pytest.raises(LockError, match=r'"older" is missing or lacks a column: run `manage.py'):
        await provider.acquire_lock("new", 60)

    await provider.setup()

    assert await provider.acquire_locks(["held", "ended", "new"], 60) == {"ended", "new"}


async def test_a_table_that_holds_something_else_is_refused(postgres: Any, session: Any) -> None:
    session.execute("CREATE TABLE other (id int, owner text)")

    with pytest.raises(LockError, match=r'"other" is no lock table: it lacks expires_at, lock_key'):
        await postgres("other").setup()


async def test_many_replicas_set_the_table_up_at_once(postgres: Any, postgres_alias: str) -> None:
    for round_number in range(5):
        providers = [postgres(f"fresh_{round_number}") for _ in range(8)]

        errors = await asyncio.to_thread(
            in_threads, postgres_alias, [async_to_sync(each.setup) for each in providers]
        )

        assert errors == []
        assert await providers[0].acquire_lock("a", 60) is True


async def test_a_role_that_may_not_create_tables_can_still_set_up(
    postgres: Any, session: Any, postgres_database_url: str, alias_of: Callable[[str, str], str]
) -> None:
    session.execute("DROP ROLE IF EXISTS dyncron_worker; CREATE ROLE dyncron_worker LOGIN")
    session.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON locks TO dyncron_worker")
    host = postgres_database_url.rpartition("@")[2]
    alias = alias_of("restricted_worker", f"postgresql://dyncron_worker:@{host}")
    provider = PostgresLockProvider(alias, "locks", own_connection=True)

    await provider.setup()
    assert await provider.acquire_lock("a", 60) is True

    await provider.aclose()
    session.execute("DROP OWNED BY dyncron_worker; DROP ROLE dyncron_worker")


async def test_another_kind_of_database_is_refused(
    alias_of: Callable[[str, str], str], tmp_path: Path
) -> None:
    alias = alias_of(tmp_path.name, f"sqlite:///{tmp_path / 'some.sqlite3'}")

    with pytest.raises(LockError, match=r"PostgresLockProvider cannot use .* which is sqlite"):
        await PostgresLockProvider(alias).acquire_lock("a", 60)
