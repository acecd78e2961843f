"""Metrics for Prometheus: needs the extra ``prometheus``, and nobody imports it unasked.

``counters`` follow what this process does, ``gauges`` are read from the database, and ``server``
puts both where a scraper finds them.
"""

from __future__ import annotations

from .counters import DyncronMetrics
from .gauges import HealthCollector
from .server import MetricsServer, serve_metrics

__all__ = ["DyncronMetrics", "HealthCollector", "MetricsServer", "serve_metrics"]
