"""What commands say where there are no tables: one line, and no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.databases import database_alias


@pytest.fixture
def empty_database(tmp_path: Path, django_db_blocker: Any) -> Iterator[str]:
    url = f"sqlite:///{tmp_path / 'empty.sqlite3'}"
    with django_db_blocker.unblock(), database_alias("empty", url):
        yield "empty"


@pytest.mark.parametrize(
    "command",
    [
        ("dyncron_pause", "report"),
        ("dyncron_pause", "--all"),
        ("dyncron_resume", "report"),
        ("dyncron_resume", "--all"),
        ("dyncron_run", "report"),
        ("dyncron_prune",),
        ("dyncron_prune", "--dry-run"),
        ("dyncron_export",),
        ("dyncron_sync", "--check"),
    ],
    ids=" ".join,
)
def test_missing_tables_are_told_in_one_line(command: tuple[str, ...], empty_database: str) -> None:
    with pytest.raises(CommandError) as caught:
        call_command(*command, "--database", empty_database)
    words = str(caught.value)
    assert words.startswith("The database refused it: no such table: django_dyncron_")
    assert "\n" not in words
    assert caught.value.returncode == 1
