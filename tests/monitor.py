"""A monitor for the tests: a real HTTP server that notes what it is asked, and may misbehave."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    """What was asked: the path, the run named by ``rid``, the method, the body, the agent."""

    path: str
    rid: str
    method: str
    body: str
    agent: str | None


@dataclass
class Monitor:
    """Keeps ``requests`` in order. ``answers`` are the status codes to give, then always 200."""

    requests: list[Request] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    location: str = ""
    """Where redirects lead."""
    gate: threading.Event = field(default_factory=threading.Event)
    """Cleared to let every request wait for it."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def told(self) -> list[tuple[str, str]]:
        """Return path and run of each request."""
        return [(request.path, request.rid) for request in self.requests]

    def wait_for(self, count: int, seconds: float = 10) -> list[Request]:
        """Return the requests once there are ``count`` of them; fail if there never are."""
        ends_at = time.monotonic() + seconds
        while len(self.requests) < count:
            assert time.monotonic() < ends_at, f"only {self.requests}"
            time.sleep(0.01)
        return self.requests


@contextmanager
def serving() -> Iterator[Monitor]:
    """Serve a monitor on a free port."""
    monitor = Monitor()
    monitor.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", 0))
            monitor.requests.append(
                Request(
                    path=parts.path,
                    rid=parse_qs(parts.query).get("rid", [""])[0],
                    method=self.command,
                    body=self.rfile.read(length).decode(),
                    agent=self.headers.get("User-Agent"),
                )
            )
            monitor.gate.wait(30)
            self.send_response(monitor.answers.pop(0) if monitor.answers else 200)
            if monitor.location:
                self.send_header("Location", monitor.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    monitor.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield monitor
    finally:
        monitor.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()
