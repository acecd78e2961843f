"""A Valkey server for tests; Redis clients cannot tell the difference."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path

import redis

from tests.servers.binaries import valkey_binary
from tests.servers.process import ServerProcess, serve_on_free_port


class ValkeyServer:
    """A server started here (:meth:`start`) or somebody else's (:meth:`attach`).

    ``url`` is ``redis://host:port/0``. Only a server started here can be killed or restarted.
    """

    def __init__(self, url: str, home: _Home | None = None) -> None:
        self.url = url
        self._home = home

    @classmethod
    def start(cls) -> ValkeyServer:
        """Serve an empty, memory-only Valkey on a free port of 127.0.0.1."""
        home = _Home()
        try:
            home.launch()
        except BaseException:
            home.remove()
            raise
        return cls(home.url, home)

    @classmethod
    def attach(cls, url: str) -> ValkeyServer:
        """Use a running server; the tests empty the databases that they use."""
        return cls(url)

    @property
    def pid(self) -> int:
        return self._own_home.process.pid

    def flush(self) -> None:
        """Empty every database, as ``FLUSHALL`` does."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def kill(self) -> None:
        """End the server by SIGKILL, as a crash would; :meth:`restart` brings it back, empty."""
        self._own_home.process.stop(signal.SIGKILL)

    def restart(self) -> None:
        """Stop, unless stopped already, and serve again on the same port, empty."""
        self._own_home.process.stop(signal.SIGTERM)
        self._own_home.serve(self._own_home.port)

    def stop(self) -> None:
        """Stop the server; idempotent. One that was attached to is left alone."""
        if self._home is not None:
            self._home.process.stop(signal.SIGTERM)
            self._home.remove()

    @property
    def _own_home(self) -> _Home:
        if self._home is None:
            raise RuntimeError("this Redis was not started by the tests; it stays as it is")
        return self._home


class _Home:
    """The directory, the port and the process of a server that was started here."""

    process: ServerProcess

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="dyncron-valkey-"))
        self.port = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def launch(self) -> None:
        serve_on_free_port(self.serve)

    def serve(self, port: int) -> None:
        self.port = port
        self.process = ServerProcess(
            [
                *(str(valkey_binary()), "--bind", "127.0.0.1", "--port", str(self.port)),
                *("--save", "", "--appendonly", "no", "--dir", str(self.directory)),
            ],
            directory=self.directory,
            farewell=signal.SIGTERM,
        )
        self.process.wait_until(self._answers)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False
