"""Clusters of real processes, each on a database of its own."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from tests.databases import database_alias
from tests.integration.cluster import Cluster

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

_numbers = itertools.count(1)


@pytest.fixture
def cluster_on(
    tmp_path: Path,
    process_environment: Callable[[str], dict[str, str]],
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Callable[[str], Cluster]]:
    """Make a cluster on the migrated database of a URL; its processes end with the test."""
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())

        def make(url: str) -> Cluster:
            number = next(_numbers)
            alias = stack.enter_context(database_alias(f"cluster_{number}", url))
            directory = tmp_path / f"cluster-{number}"
            directory.mkdir()
            settings = {"DJANGO_SETTINGS_MODULE": "tests.integration.settings"}
            cluster = Cluster(alias, directory, process_environment(url) | settings)
            stack.callback(cluster.close)
            return cluster

        yield make


@pytest.fixture
def postgres_cluster(postgres_database_url: str, cluster_on: Callable[[str], Cluster]) -> Cluster:
    return cluster_on(postgres_database_url)


@pytest.fixture
def sqlite_cluster(sqlite_url: str, cluster_on: Callable[[str], Cluster]) -> Cluster:
    return cluster_on(sqlite_url)


@pytest.fixture
def sqlite_url(_sqlite_template: Path, tmp_path: Path) -> str:
    """URL of a SQLite file of this test alone, migrated."""
    file = tmp_path / "db.sqlite3"
    shutil.copy(_sqlite_template, file)
    return f"sqlite:///{file}"


@pytest.fixture(scope="session")
def _sqlite_template(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Path:
    file = tmp_path_factory.mktemp("sqlite") / "template.sqlite3"
    with django_db_blocker.unblock(), database_alias("sqlite_template", f"sqlite:///{file}"):
        call_command("migrate", database="sqlite_template", verbosity=0)
    return file
