"""Locks in a SQLite table, for processes of one machine that share the database file."""

from __future__ import annotations

from typing import Any

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from ._table import DEFAULT_TABLE, TableLockProvider

_MISSING = ("no such table", "no such column", "has no column named", "unknown database")


class SqliteLockProvider(TableLockProvider):
    """Locks in ``table_name`` of the SQLite database ``using``.

    Asked inside an open transaction it raises :class:`LockError`, unless ``inside_transaction``:
    then it joins it. That suits a claim, which holds the one write lock of the file already, and
    would make a second connection wait for itself. Raises ``ValueError`` for a table name that
    cannot be quoted, an empty key or a time-to-live below one second.
    """

    _vendor = "sqlite"

    # Django keeps moments as text in UTC, with up to six digits after the second: with three, and
    # compared as text, they are in order.
    _acquire_sql = """
        INSERT INTO {table} AS held (lock_key, expires_at, owner)
        SELECT value, (SELECT strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(ttl)s)), %(owner)s
        FROM json_each(%(keys)s) WHERE true
        ON CONFLICT (lock_key) DO UPDATE
        SET expires_at = excluded.expires_at, owner = excluded.owner
        WHERE held.expires_at < strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
        RETURNING lock_key
    """
    _release_sql = """
        DELETE FROM {table}
        WHERE lock_key IN (SELECT value FROM json_each(%(keys)s)) AND owner = %(owner)s
    """
    _purge_sql = """
        DELETE FROM {table} WHERE lock_key IN (
            SELECT lock_key FROM {table}
            WHERE expires_at < strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now') LIMIT %(limit)s
        ) RETURNING lock_key
    """
    _create_sql = """
        CREATE TABLE IF NOT EXISTS {table} (
            lock_key text NOT NULL PRIMARY KEY,
            expires_at datetime NOT NULL,
            owner varchar(64) NOT NULL DEFAULT ''
        )
    """
    _add_owner_sql = "ALTER TABLE {table} ADD COLUMN owner varchar(64) NOT NULL DEFAULT ''"

    def __init__(
        self,
        using: str = "default",
        table_name: str = DEFAULT_TABLE,
        *,
        inside_transaction: bool = False,
    ) -> None:
        super().__init__(using, table_name)
        self._joins_transaction = inside_transaction

    def within_claims(self) -> SqliteLockProvider:
        """Return the same provider, joining the claim's transaction; they share their locks."""
        if self._joins_transaction:
            return self
        twin = type(self)(self._using, self._table_name, inside_transaction=True)
        twin._owner = self._owner
        twin._is_twin = True
        return twin

    def _needs_own_transaction(self) -> bool:
        return not self._joins_transaction

    def _parameters(self, ttl_seconds: int) -> dict[str, Any]:
        return {"ttl": f"+{ttl_seconds} seconds"}

    def _columns(self, connection: BaseDatabaseWrapper) -> set[str]:
        *schema, table = self._table_parts
        given = {"table": table, "schema": schema[0] if schema else None}
        statement = "SELECT name FROM pragma_table_info(%(table)s, %(schema)s)"
        rows = self._run(connection, statement, given)
        return {name for (name,) in rows}

    def _lacks_table(self, error: Error) -> bool:
        return any(words in str(error) for words in _MISSING)

    def _is_passing(self, error: Error) -> bool:
        return "is locked" in str(error)
