"""The project's web server for the time of a demonstration, static files included."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

_HOST = "127.0.0.1"


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Leave the terminal to the runs."""


@contextmanager
def served(port: int) -> Iterator[int]:
    """Serve on ``port``, or on a free one if that is taken, within the block; give the port."""
    server = _listen(port)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    thread = Thread(target=server.serve_forever, name="web server", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _listen(port: int) -> ThreadedWSGIServer:
    try:
        return ThreadedWSGIServer((_HOST, port), _QuietHandler)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return ThreadedWSGIServer((_HOST, 0), _QuietHandler)
