"""Doubles to test with: a clock that is moved by hand, stores in memory, a queue that listens.

They keep the contracts of :mod:`django_dyncron.core.ports` and need neither Django nor a server.
"""

from __future__ import annotations

from .clock import FakeClock
from .doubles import ListRepository, RecordingEnqueuer
from .memory import InMemoryRepository

__all__ = ["FakeClock", "InMemoryRepository", "ListRepository", "RecordingEnqueuer"]
