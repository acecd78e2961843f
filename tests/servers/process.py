"""One server process, and the guard that ends it should its owner die."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

# Reading blocks until the owner closes its end of the pipe, which the kernel does however it dies.
_GUARD = 'read -r _; kill -s "$2" "$1" && sleep 1; rm -rf "$3"'


class ServerStartError(RuntimeError):
    """The server ended, or stayed silent, instead of answering; carries the end of its log."""


def serve_on_free_port(serve: Callable[[int], None]) -> None:
    """Call ``serve`` with a TCP port of 127.0.0.1 that nobody listens on.

    Another process may take the port before the server listens on it; two more are tried then.
    """
    for attempts_left in (2, 1, 0):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        try:
            serve(port)
        except ServerStartError:
            if not attempts_left:
                raise
        else:
            return


class ServerProcess:
    """A server in a session of its own, so that Ctrl-C in the terminal reaches only its owner.

    ``directory`` holds its data and log. Should the owner die without having called :meth:`stop`,
    the server is ended by the signal ``farewell`` and the directory removed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        farewell: signal.Signals,
        user: str | None = None,
    ) -> None:
        self._log = directory / "server.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=directory,
                user=user,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        guard_name = farewell.name.removeprefix("SIG")
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", str(self.pid), guard_name, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, answers: Callable[[], bool], *, timeout_seconds: float = 30) -> None:
        """Wait for ``answers`` to be true; raise :class:`ServerStartError` if it never is."""
        deadline = time.monotonic() + timeout_seconds
        while not answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop(signal.SIGKILL)
                raise ServerStartError(self._log.read_text(errors="replace")[-4000:])
            time.sleep(0.02)

    def stop(self, with_signal: signal.Signals, *, timeout_seconds: float = 30) -> None:
        """Send the signal, wait for the end, and kill what does not end in time; idempotent."""
        if self._process.poll() is None:
            self._process.send_signal(with_signal)
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._dismiss_guard()

    def _dismiss_guard(self) -> None:
        # First the guard, then the pipe: the other way round it would do its work.
        self._guard.kill()
        self._guard.wait()
        assert self._guard.stdin is not None
        self._guard.stdin.close()
