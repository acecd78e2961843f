"""What lock providers over a database table share; SQL and connection are each one's own."""

from __future__ import annotations

import json
import random
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any, ClassVar

from asgiref.sync import sync_to_async
from django.db import Error, ProgrammingError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ..core.exceptions import LockError
from ..core.ports import ILockProvider
from ._arguments import check_ttl, distinct
from ._owner import Owner

DEFAULT_TABLE = "django_dyncron_cronlock"

_COLUMNS = {"lock_key", "expires_at", "owner"}
_PURGE_SECONDS = 60.0
_PURGE_ROWS = 1_000
_RETRY_SECONDS = 1.0


class TableLockProvider(ILockProvider):
    """Locks as rows: whoever inserts the key, or finds it expired, holds it until ``expires_at``.

    Every method is one function on Django's database thread. One statement does a batch, in its own
    transaction: inside somebody else's it would keep the other replicas waiting until that ends.
    Expired rows are deleted about once a minute, a thousand at a time.
    """

    _vendor: ClassVar[str]
    _acquire_sql: ClassVar[str]
    _release_sql: ClassVar[str]
    _purge_sql: ClassVar[str]
    _create_sql: ClassVar[str]
    _add_owner_sql: ClassVar[str]

    def __init__(self, using: str, table_name: str) -> None:
        self._using = using
        self._table_parts = _parts(table_name)
        self._table_name = table_name
        self._owner = Owner()
        self._purges_at = monotonic() + _PURGE_SECONDS
        self._is_twin = False

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        """Take ``lock_key`` for ``ttl_seconds``; return ``False`` if somebody holds it.

        Raises :class:`LockError` for anything else, such as an open transaction.
        """
        return bool(await self.acquire_locks([lock_key], ttl_seconds))

    async def release_lock(self, lock_key: str) -> None:
        """Give ``lock_key`` back if it is still this provider's."""
        await self.release_locks([lock_key])

    async def acquire_locks(self, lock_keys: Sequence[str], ttl_seconds: int) -> set[str]:
        """Take those of ``lock_keys`` that are free, in one statement, and return them."""
        keys = distinct(lock_keys)
        check_ttl(ttl_seconds)
        return await sync_to_async(self._acquire)(keys, ttl_seconds) if keys else set()

    async def release_locks(self, lock_keys: Sequence[str]) -> None:
        """Give several locks back in one statement."""
        if keys := distinct(lock_keys):
            await sync_to_async(self._release)(keys)

    async def setup(self) -> None:
        """Create the table, or add what an older one lacks; several processes may do so at once.

        Needed for a table of your own; ``migrate`` creates the default one. A schema must exist.
        """
        await sync_to_async(self._setup)()

    # --- what differs ---------------------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator[BaseDatabaseWrapper]:
        """Yield the connection to work on, to nobody else meanwhile."""
        yield connections[self._using]

    def _needs_own_transaction(self) -> bool:
        return True

    @abstractmethod
    def _parameters(self, ttl_seconds: int) -> dict[str, Any]:
        """Return the parameters of ``_acquire_sql`` that depend on the time-to-live."""

    @abstractmethod
    def _columns(self, connection: BaseDatabaseWrapper) -> set[str]:
        """Return the names of the table's columns; none if there is no table."""

    @abstractmethod
    def _lacks_table(self, error: Error) -> bool:
        """Tell whether the table or a column of it is missing."""

    @abstractmethod
    def _is_passing(self, error: Error) -> bool:
        """Tell whether nothing has happened and the same statement may well succeed in a moment."""

    # --- on the database thread -----------------------------------------------------------------

    def _acquire(self, keys: list[str], ttl_seconds: int) -> set[str]:
        given = self._given(keys) | self._parameters(ttl_seconds)
        with self._session() as connection:
            taken = {key for (key,) in self._run(connection, self._acquire_sql, given)}
        if not self._is_twin:
            self._purge()
        return taken

    def _release(self, keys: list[str]) -> None:
        with self._session() as connection:
            self._run(connection, self._release_sql, self._given(keys))
        self._purge()

    def _given(self, keys: list[str]) -> dict[str, Any]:
        return {"keys": json.dumps(keys), "owner": str(self._owner)}

    def _purge(self) -> None:
        if monotonic() < self._purges_at:
            return
        self._purges_at = monotonic() + _PURGE_SECONDS
        # The locks asked for are taken, or given back, already: this must not make it an error.
        with suppress(LockError), self._session() as connection:
            purged = self._run(connection, self._purge_sql, {"limit": _PURGE_ROWS})
            if len(purged) == _PURGE_ROWS:
                self._purges_at = 0.0

    def _setup(self) -> None:
        with self._session() as connection:
            try:
                self._create(connection)
            except Error:
                # Another process may have been quicker: look again.
                self._create(connection)
            lacking = ", ".join(sorted(_COLUMNS - self._columns(connection)))
        if lacking:
            raise LockError(f'The table "{self._table_name}" is no lock table: it lacks {lacking}.')

    def _create(self, connection: BaseDatabaseWrapper) -> None:
        present = self._columns(connection)
        if not present:
            self._run(connection, self._create_sql, {})
        elif "owner" not in present:
            self._run(connection, self._add_owner_sql, {})

    # --- connection and statement ---------------------------------------------------------------

    @contextmanager
    def _session(self) -> Iterator[BaseDatabaseWrapper]:
        """Yield a connection fit for locks; whatever the database says becomes a LockError."""
        with self._connection() as connection:
            try:
                self._check(connection)
                yield connection
            except Error as error:
                if not isinstance(error, ProgrammingError):
                    self._close(connection)
                raise LockError(self._explain(error)) from error

    def _check(self, connection: BaseDatabaseWrapper) -> None:
        if connection.vendor != self._vendor:
            raise LockError(
                f'{type(self).__name__} cannot use the database "{self._using}", '
                f"which is {connection.vendor}."
            )
        if self._needs_own_transaction() and (
            connection.in_atomic_block or not connection.get_autocommit()
        ):
            raise LockError(
                f'A transaction is open on the database "{self._using}": a lock taken in it would '
                "keep others waiting until it ends."
            )

    def _close(self, connection: BaseDatabaseWrapper) -> None:
        # So that the next call connects anew. An open transaction is its owner's to end.
        if not connection.in_atomic_block:
            with suppress(Error):
                connection.close()

    def _explain(self, error: Error) -> str:
        if self._lacks_table(error):
            return (
                f'The lock table "{self._table_name}" is missing or lacks a column: run `manage.py '
                f"migrate`, or `await provider.setup()` for a table of your own. ({error})"
            )
        return f'The lock table "{self._table_name}" could not be used: {error}'

    def _run(
        self, connection: BaseDatabaseWrapper, sql: str, given: Mapping[str, Any]
    ) -> list[Any]:
        """Run one statement, again if it is worth it, and return its rows."""
        statement = sql.format(table=self._quoted(connection).replace("%", "%%"))
        deadline = monotonic() + _RETRY_SECONDS
        while True:
            try:
                with connection.cursor() as cursor:
                    cursor.execute(statement, given)
                    return cursor.fetchall() if cursor.description else []
            except Error as error:
                # An open transaction is its owner's to start again.
                is_over = connection.in_atomic_block or monotonic() > deadline
                if is_over or not self._is_passing(error):
                    raise
            sleep(random.uniform(0.005, 0.02))  # noqa: S311

    def _quoted(self, connection: BaseDatabaseWrapper) -> str:
        return ".".join(connection.ops.quote_name(part) for part in self._table_parts)


def _parts(table_name: str) -> list[str]:
    """Split ``table`` or ``schema.table``; refuse a quote, since Django would not escape it."""
    parts = table_name.split(".")
    if len(parts) > 2 or not all(parts) or '"' in table_name:
        raise ValueError(f'table_name must be "table" or "schema.table", not {table_name!r}.')
    return parts
