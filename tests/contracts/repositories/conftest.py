"""Repositories of each kind, opened for a test and closed after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from django_dyncron.repositories import dialects
from tests.contracts.repositories.sites import DatabaseSite, Site, database_site, memory_site
from tests.databases import database_alias

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker


@pytest.fixture
def prepared_alias(postgres_alias: str) -> str:
    """Like ``postgres_alias``; the server binds the parameters and prepares each statement.

    Besides, the connection has a time zone of its own, as ``DATABASES`` may give it one.
    """
    from django.db import connections

    connections.settings[postgres_alias] |= {
        "OPTIONS": {"server_side_binding": True, "prepare_threshold": 0},
        "TIME_ZONE": "Asia/Kolkata",
    }
    return postgres_alias


@pytest.fixture(params=["memory", "default", "postgres", "prepared", "portable"])
def unopened_repository(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, transactional_db: None
) -> Site:
    """A repository of each kind; ``portable`` speaks to PostgreSQL as to any database.

    ``prepared`` is the dialect of PostgreSQL on a connection that prepares its statements.
    """
    if request.param == "memory":
        return memory_site()
    if request.param == "default":
        return database_site()
    if request.param == "prepared":
        return database_site(request.getfixturevalue("prepared_alias"))
    if request.param == "portable":
        monkeypatch.setattr(dialects, "_DIALECTS", {})
    return database_site(request.getfixturevalue("postgres_alias"))


@pytest.fixture
async def site(unopened_repository: Site) -> AsyncIterator[Site]:
    yield unopened_repository
    if isinstance(unopened_repository, DatabaseSite):
        await unopened_repository.aclose()


@pytest.fixture(params=["own dialect", "prepared", "portable dialect"])
def unopened_postgres(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, postgres_alias: str
) -> DatabaseSite:
    if request.param == "prepared":
        request.getfixturevalue("prepared_alias")
    if request.param == "portable dialect":
        monkeypatch.setattr(dialects, "_DIALECTS", {})
    return database_site(postgres_alias)


@pytest.fixture
async def postgres(unopened_postgres: DatabaseSite) -> AsyncIterator[DatabaseSite]:
    """A repository on PostgreSQL, in both dialects."""
    yield unopened_postgres
    await unopened_postgres.aclose()


@pytest.fixture
def unopened_sqlite(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[DatabaseSite]:
    url = f"sqlite:///{tmp_path / 'jobs.sqlite3'}"
    with django_db_blocker.unblock(), database_alias(tmp_path.name, url) as alias:
        call_command("migrate", "django_dyncron", database=alias, verbosity=0)
        yield database_site(alias)


@pytest.fixture
async def sqlite(unopened_sqlite: DatabaseSite) -> AsyncIterator[DatabaseSite]:
    """A repository on SQLite."""
    yield unopened_sqlite
    await unopened_sqlite.aclose()
