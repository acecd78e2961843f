"""A database that is away, read-only or empty: what the repository says, and how it recovers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import DataError, IntegrityError, InternalError, ProgrammingError, connections

from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.repositories.orm import DjangoCronJobRepository
from tests.contracts.repositories.sites import DatabaseSite, at, left_run, slots_of

CALLS: list[Callable[[DjangoCronJobRepository], Any]] = [
    lambda repository: repository.get_active_jobs(),
    lambda repository: repository.update_last_run("report", at("12:00:00")),
    lambda repository: repository.look_ahead(None),
    lambda repository: repository.start_run(left_run("12:01:00"), "a", at("12:01:00"), _MINUTE),
    lambda repository: repository.review("UTC", at("12:00:00")),
    lambda repository: repository.replan_after(at("12:00:00")),
    lambda repository: repository.prune(at("12:00:00"), 10),
]
_MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("call", CALLS)
async def test_missing_tables_are_called_by_that_name(call: Any, sqlite: DatabaseSite) -> None:
    for table in ("cronjob", "cronrun"):
        await sqlite.execute(f"DROP TABLE django_dyncron_{table}")
    with pytest.raises(StoreUnavailable, match=r'lacks tables: run "manage\.py migrate"'):
        await call(sqlite.repository)


async def test_missing_tables_are_called_by_that_name_on_postgres(postgres: DatabaseSite) -> None:
    await postgres.execute("ALTER TABLE django_dyncron_cronrun RENAME TO elsewhere")
    with pytest.raises(StoreUnavailable, match=r'lacks tables: run "manage\.py migrate"'):
        await postgres.repository.sweep(postgres.sweeping("12:00:00"))
    await postgres.execute("ALTER TABLE elsewhere RENAME TO django_dyncron_cronrun")
    assert (await postgres.repository.sweep(postgres.sweeping("12:00:00"))).next_at is None


async def test_a_primary_that_became_a_standby_is_left(postgres: DatabaseSite) -> None:
    await postgres.add()
    await postgres.planned()
    await postgres.execute("SET default_transaction_read_only = on")
    with pytest.raises(StoreUnavailable, match="read-only transaction"):
        await postgres.claim("12:01:00")
    # On a new connection.
    assert slots_of(await postgres.claim("12:01:00")) == [("report", "12:01")]


@pytest.mark.parametrize(
    "error, raised, is_closed",
    [
        (InternalError("cannot execute"), StoreUnavailable, True),
        (IntegrityError("not null"), IntegrityError, False),
        (DataError("too long"), DataError, False),
        (ProgrammingError("permission denied"), ProgrammingError, False),
    ],
)
async def test_what_is_the_connections_fault_and_what_is_ours(
    postgres: DatabaseSite, error: Exception, raised: type[Exception], is_closed: bool
) -> None:
    def fail(using: str) -> datetime:
        connections[using].ensure_connection()
        raise error

    def is_open(using: str) -> bool:
        return connections[using].connection is not None

    repository = postgres.repository
    assert isinstance(repository, DjangoCronJobRepository)
    with pytest.raises(raised):
        await repository._call(fail)
    assert await repository._call(is_open) is not is_closed
