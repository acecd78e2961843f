"""Locks in a PostgreSQL table, through Django's connections."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from asgiref.sync import sync_to_async
from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ._table import DEFAULT_TABLE, TableLockProvider

_MISSING = {"42P01", "42703"}  # undefined_table, undefined_column
_PASSING = {"40001", "40P01"}  # serialization_failure, deadlock_detected
_CONNECT_SECONDS = 3


class PostgresLockProvider(TableLockProvider):
    """Locks in ``table_name`` (``table`` or ``schema.table``) of the database ``using``.

    The server's clock grants and ends them. Asked inside an open transaction it raises
    :class:`LockError`, unless it has ``own_connection``: a second one to the same database, opened
    when first needed, outside any pool, and closed by ``aclose()``. Raises ``ValueError`` for a
    table name that cannot be quoted, an empty key or a time-to-live below one second.
    """

    _vendor = "postgresql"

    # clock_timestamp() is the real clock, where now() would be the start of the transaction. A row
    # somebody keeps locked is waited for one second: set_config(…, true) ends with the statement.
    # Keys are taken in one order everywhere, so that no two replicas wait for each other.
    _acquire_sql = """
        INSERT INTO {table} AS held (lock_key, expires_at, owner)
        SELECT wanted.key, clock_timestamp() + make_interval(secs => %(ttl)s), %(owner)s
        FROM (SELECT set_config('lock_timeout', '1s', true)) AS patience,
             json_array_elements_text(%(keys)s::json) AS wanted (key)
        ORDER BY wanted.key COLLATE "C"
        ON CONFLICT (lock_key) DO UPDATE
        SET expires_at = clock_timestamp() + make_interval(secs => %(ttl)s), owner = excluded.owner
        WHERE held.expires_at < clock_timestamp()
        RETURNING held.lock_key
    """
    # By arrays, not joins: of a table that is mostly empty when it is analyzed the planner expects
    # one row, and a join compares every key with every row. A locked row keeps its place (ctid).
    _release_sql = """
        WITH mine AS MATERIALIZED (
            SELECT held.ctid
            FROM (SELECT set_config('lock_timeout', '1s', true)) AS patience, {table} AS held
            WHERE held.lock_key = ANY (ARRAY(SELECT json_array_elements_text(%(keys)s::json)))
                AND held.owner = %(owner)s
            ORDER BY held.lock_key COLLATE "C"
            FOR UPDATE OF held
        )
        DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM mine))
    """
    _purge_sql = """
        DELETE FROM {table} WHERE lock_key IN (
            SELECT lock_key FROM {table} WHERE expires_at < clock_timestamp()
            LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        ) RETURNING lock_key
    """
    _create_sql = """
        CREATE TABLE IF NOT EXISTS {table} (
            lock_key text PRIMARY KEY,
            expires_at timestamptz NOT NULL,
            owner varchar(64) NOT NULL DEFAULT ''
        )
    """
    _add_owner_sql = """
        ALTER TABLE {table} ADD COLUMN IF NOT EXISTS owner varchar(64) NOT NULL DEFAULT ''
    """

    def __init__(
        self,
        using: str = "default",
        table_name: str = DEFAULT_TABLE,
        *,
        own_connection: bool = False,
    ) -> None:
        super().__init__(using, table_name)
        self._has_own_connection = own_connection
        self._own: BaseDatabaseWrapper | None = None
        self._mutex = threading.Lock()
        self._twin: PostgresLockProvider | None = None

    def within_claims(self) -> PostgresLockProvider:
        """Return the same provider on a connection of its own; locks of one are the other's too."""
        if self._has_own_connection:
            return self
        if self._twin is None:
            self._twin = type(self)(self._using, self._table_name, own_connection=True)
            self._twin._owner = self._owner
            self._twin._is_twin = True
        return self._twin

    async def aclose(self) -> None:
        """Close the connection of its own, if there is one; it opens again when needed."""
        await sync_to_async(self._close_own)()
        if self._twin is not None:
            await self._twin.aclose()

    @contextmanager
    def _connection(self) -> Iterator[BaseDatabaseWrapper]:
        if not self._has_own_connection:
            yield connections[self._using]
            return
        with self._mutex:
            if self._own is None:
                self._own = _private(connections[self._using])
            yield self._own

    def _close_own(self) -> None:
        with self._mutex:
            if self._own is not None:
                self._own.close()

    def _needs_own_transaction(self) -> bool:
        return not self._has_own_connection

    def _parameters(self, ttl_seconds: int) -> dict[str, Any]:
        return {"ttl": ttl_seconds}

    def _columns(self, connection: BaseDatabaseWrapper) -> set[str]:
        statement = """
            SELECT attname FROM pg_attribute
            WHERE attrelid = to_regclass(%(table)s) AND attnum > 0 AND NOT attisdropped
        """
        rows = self._run(connection, statement, {"table": self._quoted(connection)})
        return {name for (name,) in rows}

    def _lacks_table(self, error: Error) -> bool:
        return _sqlstate(error) in _MISSING

    def _is_passing(self, error: Error) -> bool:
        return _sqlstate(error) in _PASSING


def _private(connection: BaseDatabaseWrapper) -> BaseDatabaseWrapper:
    """Return a connection to the same database that commits by itself and that threads may share.

    It stays out of a pool: a claim would hold one connection of it while waiting for another.
    """
    private = connection.copy()
    private.settings_dict["AUTOCOMMIT"] = True
    options = private.settings_dict["OPTIONS"]
    options.pop("pool", None)
    options.setdefault("connect_timeout", _CONNECT_SECONDS)
    private.inc_thread_sharing()
    # With DEBUG, Django keeps the statements of a connection until a request ends; here none does.
    private.queries_log = deque(maxlen=0)
    return private


def _sqlstate(error: Error) -> str | None:
    cause = error.__cause__
    # psycopg and psycopg2 have different names for it.
    return getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
