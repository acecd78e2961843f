"""Databases beside the default one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command
from django.test import override_settings

from tests.databases import database_alias

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker


@pytest.fixture
def other_database(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The alias of a second database with our tables."""
    url = f"sqlite:///{tmp_path / 'other.sqlite3'}"
    with django_db_blocker.unblock(), database_alias("elsewhere", url):
        call_command("migrate", database="elsewhere", verbosity=0)
        yield "elsewhere"


@pytest.fixture
def _store_away(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A database where nobody listens."""
    with (
        django_db_blocker.unblock(),
        database_alias("away", "postgresql://127.0.0.1:1/nowhere"),
        override_settings(DYNCRON={"DATABASE": "away"}),
    ):
        yield
