"""A registry of its own, served over HTTP beside a scheduler."""

from __future__ import annotations

import threading
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server

from ..core.events import Event
from .counters import DyncronMetrics
from .gauges import HealthCollector


class MetricsServer:
    """Answers scrapers on ``port``, and counts the events it is called with."""

    def __init__(self, metrics: DyncronMetrics, server: WSGIServer, thread: threading.Thread):
        self._metrics = metrics
        self._server = server
        self._thread = thread
        self.port = server.server_port

    def __call__(self, event: Event) -> None:
        """Count ``event``; an observer of a scheduler."""
        self._metrics(event)

    def close(self) -> None:
        """Answer no longer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def serve_metrics(host: str, port: int, using: str | None = None) -> MetricsServer:
    """Serve a registry of its own over HTTP, in a thread of its own; port 0 is a free one.

    ``using`` is the alias of the database that the gauges are read from, by default the
    scheduler's. Raises :class:`OSError` if it cannot listen there.
    """
    registry = CollectorRegistry()
    metrics = DyncronMetrics(registry)
    registry.register(HealthCollector(using))
    ProcessCollector(registry=registry)
    return MetricsServer(metrics, *start_http_server(port, addr=host, registry=registry))
