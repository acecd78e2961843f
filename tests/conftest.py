"""Fixtures for every test: real servers, and databases on them.

A server starts when the first test asks for it and serves the whole run. The ones named by
``DYNCRON_TEST_POSTGRES_URL`` and ``DYNCRON_TEST_REDIS_URL`` are used instead when these are set.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.databases import database_alias, settings_from_url, url_from_settings

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

    from tests.servers import PostgresServer, ValkeyServer

ROOT = Path(__file__).resolve().parent.parent

_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def same_random_pauses(request: pytest.FixtureRequest) -> None:
    """Draw the same pauses before a retry in every run: a test that fails, fails again."""
    random.seed(request.node.nodeid)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The PostgreSQL of this run, shared; one to stop or restart is ``disposable_postgres``."""
    from tests.servers import PostgresServer

    if url := os.environ.get("DYNCRON_TEST_POSTGRES_URL"):
        yield PostgresServer.attach(url)
        return
    server = PostgresServer.start()
    yield server
    server.stop("immediate")


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[ValkeyServer]:
    """The Valkey of this run, shared; one to kill or flush is ``disposable_valkey``."""
    from tests.servers import ValkeyServer

    if url := os.environ.get("DYNCRON_TEST_REDIS_URL"):
        yield ValkeyServer.attach(url)
        return
    server = ValkeyServer.start()
    yield server
    server.stop()


@pytest.fixture
def disposable_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for this test alone, always started here, to be stopped at will."""
    from tests.servers import PostgresServer

    server = PostgresServer.start()
    yield server
    server.stop("immediate")


@pytest.fixture
def disposable_valkey() -> Iterator[ValkeyServer]:
    """A Valkey for this test alone, always started here, to be killed at will."""
    from tests.servers import ValkeyServer

    server = ValkeyServer.start()
    yield server
    server.stop()


@pytest.fixture
def redis_url(valkey_server: ValkeyServer) -> str:
    """URL of an empty Redis database, 1 to 15 in turn, so that neighbours never share one."""
    import redis

    url = f"{valkey_server.url.rsplit('/', 1)[0]}/{next(_numbers) % 15 + 1}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """Point ``default`` at this run's PostgreSQL when ``DYNCRON_TEST_DATABASE`` says so."""
    from django.db import connections

    if os.environ.get("DYNCRON_TEST_DATABASE") == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        connections["default"].settings_dict.update(settings_from_url(server.url))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """Cut what other threads left connected: PostgreSQL would not drop the database."""
    yield
    from django.db import connection

    if connection.vendor == "postgresql":
        from tests.servers import PostgresServer

        server = PostgresServer.attach(url_from_settings(connection.settings_dict))
        connection.close()
        server.terminate_backends(connection.settings_dict["NAME"])


@pytest.fixture(scope="session")
def database_url(django_db_setup: None) -> str:
    """URL of the test database behind ``default``, for the processes that a test starts."""
    from django.db import connections

    return url_from_settings(connections["default"].settings_dict)


@pytest.fixture(scope="session")
def _postgres_template(
    postgres_server: PostgresServer, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """Name of a migrated database to copy: 25 ms a copy, against half a second of migrating."""
    from django.core.management import call_command

    name = f"dyncron_template_{os.getpid()}"
    url = postgres_server.create_database(name)
    with django_db_blocker.unblock(), database_alias("postgres_template", url):
        call_command("migrate", database="postgres_template", verbosity=0)
    yield name
    postgres_server.drop_database(name)


@pytest.fixture
def postgres_database_url(
    postgres_server: PostgresServer, _postgres_template: str
) -> Iterator[str]:
    """URL of a PostgreSQL database of this test alone, migrated, whatever ``default`` is."""
    name = f"dyncron_{os.getpid()}_{next(_numbers)}"
    yield postgres_server.create_database(name, template=_postgres_template)
    postgres_server.drop_database(name)


@pytest.fixture
def postgres_alias(postgres_database_url: str, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Alias under which Django, in this process, reaches ``postgres_database_url``.

    A new one for every test, because threads that outlive a test keep its connection by that name.
    Nothing is rolled back, since the database goes with the test: transactions are real.
    """
    alias = f"postgres_{next(_numbers)}"
    with django_db_blocker.unblock(), database_alias(alias, postgres_database_url):
        yield alias


@pytest.fixture(scope="session")
def process_environment() -> Callable[[str], dict[str, str]]:
    """Environment for ``python -m django …`` on the database of a URL, with these settings."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]

    def environment(url: str) -> dict[str, str]:
        return os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DYNCRON_TEST_DATABASE_URL": url,
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONUNBUFFERED": "1",
        }

    return environment
