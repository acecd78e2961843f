"""The file by whose age a probe without a database tells whether a replica is stuck."""

from __future__ import annotations

import logging
from pathlib import Path
from time import monotonic

from django.core.management.base import CommandError

from ..core.events import Event, SignOfLife, TickResult

_logger = logging.getLogger("django_dyncron")

_TOUCHED_LATELY = 10.0
"""Seconds."""


class HeartbeatFile:
    """A file that begins with the first tick that goes well and is touched while none is stuck.

    Ticks may fail then: to restart a process because its database is away would mend nothing, and
    cost the tasks that run in it. Raises :class:`CommandError` if it cannot be a file.
    """

    keep_alive_seconds = None

    def __init__(self, path: Path) -> None:
        self._path = path
        self._touched_at: float | None = None
        self._has_complained = False
        if not path.parent.is_dir():
            raise CommandError(f"--heartbeat-file: there is no directory {path.parent}.")
        try:
            # A probe must not take the file of an earlier process for one of this.
            path.unlink(missing_ok=True)
        except OSError as error:
            raise CommandError(f"--heartbeat-file: {error}") from error

    def __call__(self, event: Event) -> None:
        if isinstance(event, TickResult | SignOfLife):
            self._touch()

    def keep_alive(self) -> None:
        if self._touched_at is not None and monotonic() - self._touched_at >= _TOUCHED_LATELY:
            self._touch()

    def _touch(self) -> None:
        self._touched_at = monotonic()
        try:
            self._path.touch()
        except OSError as error:
            if not self._has_complained:
                self._has_complained = True
                extra = {"action": "heartbeat_failed"}
                _logger.error("the heartbeat file cannot be touched: %s", error, extra=extra)
        else:
            self._has_complained = False
