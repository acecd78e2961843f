"""What an action costs where no clock is needed: statements, commits and thread hops, counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any
from unittest.mock import patch

from asgiref.sync import SyncToAsync
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

_TRANSACTION = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK")


@dataclass
class Spending:
    """What was spent: statements by their text, on Django's own connections and on others.

    Transaction control is no statement. ``hops`` are calls of ``sync_to_async`` functions.
    """

    statements: list[str] = field(default_factory=list)
    statements_elsewhere: list[str] = field(default_factory=list)
    commits: int = 0
    hops: int = 0

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of statements, of commits and of hops."""
        return len(self.statements), self.commits, self.hops

    def beyond(self, other: Spending) -> tuple[int, int, int]:
        """Return how much more was spent than in ``other``: statements, commits, hops."""
        pairs = zip(self.counts, other.counts, strict=True)
        statements, commits, hops = (mine - theirs for mine, theirs in pairs)
        return statements, commits, hops


@contextmanager
def counted() -> Iterator[Spending]:
    """Count what every thread spends inside the block."""
    spending = Spending()
    execute, commit = CursorWrapper.execute, BaseDatabaseWrapper.commit
    hop: Any = SyncToAsync.__call__

    @wraps(execute)
    def counting_execute(cursor: Any, sql: str, *arguments: Any) -> Any:
        if not sql.lstrip().startswith(_TRANSACTION):
            is_own = cursor.db is connections[cursor.db.alias]
            of_kind = spending.statements if is_own else spending.statements_elsewhere
            of_kind.append(sql)
        return execute(cursor, sql, *arguments)

    @wraps(commit)
    def counting_commit(connection: Any) -> None:
        spending.commits += 1
        commit(connection)

    @wraps(hop)
    async def counting_hop(function: Any, *arguments: Any, **options: Any) -> Any:
        spending.hops += 1
        return await hop(function, *arguments, **options)

    with (
        patch.object(CursorWrapper, "execute", counting_execute),
        patch.object(BaseDatabaseWrapper, "commit", counting_commit),
        patch.object(SyncToAsync, "__call__", counting_hop),
    ):
        yield spending
