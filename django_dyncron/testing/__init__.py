"""What to test with: a tick at any moment, and doubles for clock, store and queue.

The doubles keep the contracts of :mod:`django_dyncron.core.ports` and need neither Django nor a
server. ``tick_at`` asks a Django project what would be enqueued.
"""

from __future__ import annotations

from .clock import FakeClock
from .doubles import ListRepository, RecordingEnqueuer
from .memory import InMemoryRepository
from .ticking import atick_at, tick_at

__all__ = [
    "FakeClock",
    "InMemoryRepository",
    "ListRepository",
    "RecordingEnqueuer",
    "atick_at",
    "tick_at",
]
