"""What differs between databases in claiming and recording, and who speaks which dialect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import F
from django.db.models.expressions import Combinable
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

Row = Mapping[str, Any]


class Dialect(ABC):
    """The statements of one kind of database, run on ``connection`` inside a transaction."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection

    def begin(self) -> None:
        """Do what must come first in a transaction that is going to write."""

    def seen(self, name: str) -> Combinable:
        """Return the expression by which column ``name`` is read and later compared."""
        return F(name)

    @abstractmethod
    def claim(self, cursors: Sequence[Row], runs: Sequence[Row]) -> set[UUID]:
        """Swap cursors and add the run rows of the jobs whose swap succeeded.

        ``runs`` name their job's key as ``job``. Return the ids of the rows that were added.
        """

    @abstractmethod
    def record(self, runs: Sequence[Row], jobs: Sequence[Row]) -> None:
        """Write ``runs`` that are unfinished, and what they mean for their ``jobs``.

        A job's ``enqueued_at`` never moves its last run backwards; an ``error`` of ``None`` leaves
        the one noted before.
        """


_DIALECTS = {
    "postgresql": "django_dyncron.repositories.postgres.PostgresDialect",
    "sqlite": "django_dyncron.repositories.sqlite.SqliteDialect",
}
_PORTABLE = "django_dyncron.repositories.portable.PortableDialect"


def dialect_of(connection: BaseDatabaseWrapper) -> Dialect:
    """Return the dialect to speak on ``connection``."""
    dialect: Dialect = import_string(_DIALECTS.get(connection.vendor, _PORTABLE))(connection)
    return dialect
