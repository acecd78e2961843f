"""Telling systemd how the scheduler is: sd_notify(3), without its library.

A unit of ``Type=notify`` is told when the scheduler runs, what it does and when it stops; with
``WatchdogSec=`` systemd restarts it when it is stuck. Without ``NOTIFY_SOCKET`` nothing is done.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping

from .core.events import (
    Event,
    RunEnqueued,
    SchedulerStopped,
    SignOfLife,
    TickFailed,
    TickResult,
)
from .core.text import one_line

_logger = logging.getLogger("django_dyncron")

_LONGEST_STATUS = 200


class Systemd:
    """Speaks to the service manager at ``address``; an observer for a scheduler.

    ``keep_alive_seconds`` is how often :meth:`keep_alive` must be called; ``None`` if nobody keeps
    watch. That is called in the watchdog's thread, the events come in the loop's.
    """

    def __init__(self, address: str, keep_alive_seconds: float | None = None) -> None:
        self.keep_alive_seconds = keep_alive_seconds
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        # The scheduler waits for nobody, not even for the service manager.
        self._socket.setblocking(False)
        self._is_ready = False
        self._is_stopping = False
        self._has_complained = False
        self._enqueued = 0
        self._status = self._told = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Systemd | None:
        """Return whom to speak to, or ``None`` if nobody listens or not in a way known here."""
        address = environment.get("NOTIFY_SOCKET", "")
        if not address:
            return None
        if address[0] not in "/@" or not hasattr(socket, "AF_UNIX"):
            extra = {"action": "notify_failed"}
            _logger.warning("NOTIFY_SOCKET is of a kind not known here", extra=extra)
            return None
        return cls(address, _keep_alive_seconds(environment))

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunEnqueued):
            self._enqueued += 1
        elif isinstance(event, TickResult):
            self._status = f"Last tick {event.at:%H:%M:%S}Z, {self._enqueued} runs enqueued so far"
            self._be_ready()
        elif isinstance(event, TickFailed):
            seconds = event.retry_in.total_seconds()
            self._status = f"Tick failed, next in {seconds:.0f} s: {one_line(event.error)}"
            # It runs, as well as can be: a unit that is not ready would be killed in the end.
            self._be_ready()
        elif isinstance(event, SignOfLife):
            # A first tick with a long backlog may last longer than a unit has to get ready.
            self._status = self._status or "Works off what is due"
            self._be_ready()
        elif isinstance(event, SchedulerStopped):
            self.stopping()

    def keep_alive(self) -> None:
        """Say that the loop is not stuck, and what it does if that is news."""
        if self._status and not self._is_ready:
            self._be_ready()
        lines = [] if self.keep_alive_seconds is None else ["WATCHDOG=1"]
        if self._status != self._told and not self._is_stopping:
            lines.append(self._status_line())
        if lines:
            self._send(*lines)

    def stopping(self) -> None:
        """Say, once, that the scheduler winds down."""
        if not self._is_stopping:
            self._is_stopping = True
            self._send("STOPPING=1", "STATUS=Stopping, local runs are waited for")

    def close(self) -> None:
        self._socket.close()

    def _be_ready(self) -> None:
        if not self._is_ready:
            # A manager that is too busy is told again: a unit that never got ready is killed.
            self._is_ready = self._send("READY=1", self._status_line())

    def _status_line(self) -> str:
        self._told = self._status
        return f"STATUS={self._told[:_LONGEST_STATUS]}"

    def _send(self, *lines: str) -> bool:
        try:
            self._socket.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)
        except OSError as error:
            if not self._has_complained:
                self._has_complained = True
                extra = {"action": "notify_failed"}
                _logger.warning("NOTIFY_SOCKET cannot be written to: %s", error, extra=extra)
            return False
        return True


def _keep_alive_seconds(environment: Mapping[str, str]) -> float | None:
    """Return half of what the watchdog of this process allows, as sd_watchdog_enabled(3) says."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        microseconds = int(environment.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return microseconds / 2e6 if microseconds > 0 else None
