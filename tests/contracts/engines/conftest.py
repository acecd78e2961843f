"""Each queue with its real worker, started for the first test that asks and kept for the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
import redis

from tests.databases import database_alias
from tests.engines.engine import Engine
from tests.integration.cluster import Cluster

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

    from tests.servers import PostgresServer, ValkeyServer

ENGINES = (
    "celery",
    "django_tasks_db",
    "django_tasks_rq",
    "dramatiq",
    "dramatiq_plain",
    "huey",
    "procrastinate",
    "rq",
)
"""A package ``tests.engines.on_<name>`` each, whose module ``engine`` has a class ``Engine``."""


@pytest.fixture(scope="package", params=ENGINES)
def engine(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    process_environment: Callable[[str], dict[str, str]],
    postgres_server: PostgresServer,
    _postgres_template: str,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Engine]:
    """A queue, its worker and a scheduler, on a database of their own."""
    name = request.param
    kind: type[Engine] = import_module(f"tests.engines.on_{name}.engine").Engine
    redis_url = _empty_redis(request.getfixturevalue("valkey_server")) if kind.needs_redis else None
    database = f"dyncron_{os.getpid()}_{name}"
    url = postgres_server.create_database(database, template=_postgres_template)
    with ExitStack() as stack:
        stack.callback(postgres_server.drop_database, database)
        stack.enter_context(django_db_blocker.unblock())
        alias = stack.enter_context(database_alias(database, url))
        cluster = Cluster(alias, tmp_path_factory.mktemp(name), process_environment(url))
        stack.callback(cluster.close)
        engine = kind(cluster, redis_url)
        stack.callback(engine.close)
        engine.start()
        yield engine


def _empty_redis(server: ValkeyServer) -> str:
    """Return the URL of the database that no test is given, emptied."""
    url = f"{server.url.rsplit('/', 1)[0]}/0"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url
