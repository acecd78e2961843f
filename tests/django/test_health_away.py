"""Health where the database cannot be read: away, without tables, with tables of yesterday."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.db import connections

from django_dyncron.health import Health, read_health, read_health_in_time
from django_dyncron.health.report import as_json
from tests.databases import database_alias

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

AWAY = "postgresql://nobody:secret@127.0.0.1:9/nothing"


@pytest.fixture
def known(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Callable[..., str]]:
    """Make a database known by an alias until the test ends."""
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        yield lambda alias, url: stack.enter_context(database_alias(alias, url))


def read_in_time(using: str) -> Health:
    return read_health_in_time(5, using)


@pytest.mark.parametrize("read", [read_health, read_in_time])
def test_a_database_that_is_away_is_told_of_and_not_raised(
    known: Callable[..., str], read: Callable[[str], Health]
) -> None:
    health = read(known("away", AWAY))
    assert [finding.code for finding in health.problems] == ["database_away"]
    assert (health.is_healthy, health.is_readable) == (False, False)
    assert health.problems[0].text.startswith("Database 'away' cannot be read: ")
    assert "secret" not in health.problems[0].text
    assert as_json(health, reveals=False) == {
        "status": "unhealthy",
        "problems": [{"code": "database_away"}],
        "warnings": [],
    }


def test_missing_tables_are_named_with_their_remedy(
    known: Callable[..., str], tmp_path: Path
) -> None:
    health = read_health(known("empty", f"sqlite:///{tmp_path / 'empty.sqlite3'}"))
    assert [finding.code for finding in health.problems] == ["tables_missing"]
    assert health.problems[0].text.startswith("Database 'empty' lacks tables: ")
    assert health.problems[0].remedy == 'Run "manage.py migrate".'


def test_a_connection_that_was_cut_while_nobody_used_it_is_made_anew(postgres_alias: str) -> None:
    connection = connections[postgres_alias]
    assert [each.code for each in read_health(postgres_alias).problems] == ["no_replica"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    with closing(connection.copy()) as another, another.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend])
    assert [each.code for each in read_health(postgres_alias).problems] == ["no_replica"]


def test_a_database_that_accepts_and_never_answers_is_slow(known: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://nobody@127.0.0.1:{mute.getsockname()[1]}/nothing"
        began = time.monotonic()
        health = read_health_in_time(0.5, known("mute", url))
        assert time.monotonic() - began < 2
        assert [finding.code for finding in health.problems] == ["database_slow"]
        readers = [each for each in threading.enumerate() if each.name == "dyncron-health"]
        # So that the thread that reads ends with the test.
        mute.accept()[0].close()
        for reader in readers:
            reader.join(5)
        assert [reader for reader in readers if reader.is_alive()] == []
