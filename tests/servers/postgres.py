"""A PostgreSQL server for tests."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.servers.binaries import postgres_binaries, unprivileged_user
from tests.servers.process import ServerProcess, serve_on_free_port

# Durability is of no use to a server that lives for one test run; speed is.
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum_naptime": "10s",
    "timezone": "UTC",
}

_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class PostgresServer:
    """A server started here (:meth:`start`) or somebody else's (:meth:`attach`).

    ``url`` is its maintenance database as ``postgresql://…``, ``dsn`` the same in libpq's words.
    Only a server started here can be stopped or restarted.
    """

    def __init__(self, url: str, home: _Home | None = None) -> None:
        self.url = url
        self._home = home

    @classmethod
    def start(cls) -> PostgresServer:
        """Create a cluster in a temporary directory and serve it on a free port of 127.0.0.1."""
        home = _Home()
        try:
            home.launch()
        except BaseException:
            home.remove()
            raise
        return cls(f"postgresql://postgres@127.0.0.1:{home.port}/postgres", home)

    @classmethod
    def attach(cls, url: str) -> PostgresServer:
        """Use a running server; ``url`` must name a database and a user that may create more."""
        return cls(url)

    @property
    def dsn(self) -> str:
        return make_conninfo("", **conninfo_to_dict(self.url))

    @property
    def pid(self) -> int:
        return self._own_home.process.pid

    def create_database(self, name: str, *, template: str | None = None) -> str:
        """Create a database, replacing one of that name, and return its URL."""
        self.drop_database(name)
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        with self._connect() as connection:
            connection.execute(statement)
        return self.database_url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, its connections too; nothing happens if there is none."""
        statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        with self._connect() as connection:
            connection.execute(statement)

    def database_url(self, name: str) -> str:
        """Return the URL of another database of this server."""
        return urlsplit(self.url)._replace(path=f"/{quote(name)}").geturl()

    def terminate_backends(self, database: str | None = None) -> int:
        """Cut all client connections, or those to one database; return how many there were."""
        statement = """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
              AND (%(database)s::text IS NULL OR datname = %(database)s)
        """
        with self._connect() as connection:
            row = connection.execute(statement, {"database": database}).fetchone()
        return 0 if row is None else int(row[0])

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server and remove its data: orderly, or like a crash; idempotent.

        A server that was attached to is left alone.
        """
        if self._home is not None:
            self._home.process.stop(_SIGNALS[mode])
            self._home.remove()

    def shut_down(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop serving but keep the data, for :meth:`restart` to go on with."""
        self._own_home.process.stop(_SIGNALS[mode])

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop, unless stopped already, and serve the same data on the same port again."""
        self.shut_down(mode)
        self._own_home.serve(self._own_home.port)

    @property
    def _own_home(self) -> _Home:
        if self._home is None:
            raise RuntimeError("this PostgreSQL was not started by the tests; it stays as it is")
        return self._home

    @contextmanager
    def _connect(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            yield connection


class _Home:
    """The directory, the port and the process of a server that was started here."""

    process: ServerProcess

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="dyncron-postgres-"))
        self.port = 0
        self._user = unprivileged_user()
        if self._user is not None:
            shutil.chown(self.directory, user=self._user)
        self._binaries = postgres_binaries(self.directory, self._user)

    def launch(self) -> None:
        self._create_cluster()
        serve_on_free_port(self.serve)

    def serve(self, port: int) -> None:
        self.port = port
        options = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        self.process = ServerProcess(
            [str(self._binaries / "postgres"), "-D", "data", "-p", str(self.port), *options],
            directory=self.directory,
            farewell=signal.SIGQUIT,
            user=self._user,
        )
        self.process.wait_until(self._answers)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _create_cluster(self) -> None:
        subprocess.run(
            [
                *(str(self._binaries / "initdb"), "-D", "data", "-U", "postgres", "--auth=trust"),
                *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
                *("--locale=C", "--no-sync", "--no-instructions"),
            ],
            cwd=self.directory,
            user=self._user,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def _answers(self) -> bool:
        try:
            psycopg.connect(
                host="127.0.0.1", port=self.port, user="postgres", dbname="postgres"
            ).close()
        except psycopg.OperationalError:
            return False
        return True
