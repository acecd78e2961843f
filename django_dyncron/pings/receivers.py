"""What is pinged: receivers of signals, in workers and in schedulers."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from .. import signals
from ..context import CurrentRun
from ..core.ping_targets import PingKind
from ..core.policies import SkipReason
from ..signals import DyncronSignal
from .lines import flush, put, wait_for
from .sending import Ping, read_addresses

_MISSED = (SkipReason.MISFIRE, SkipReason.SUPERSEDED)
"""Slots that should have been run. What was skipped for another reason was skipped on purpose."""
_NAME = "django_dyncron.pings"


def connect() -> None:
    """Ping from now on, as the rows of jobs and ``PING_URLS`` want it. Twice does no harm."""
    for signal, receiver in _RECEIVERS.items():
        signal.connect(receiver, dispatch_uid=_NAME)
    atexit.unregister(flush)
    atexit.register(flush)


def disconnect() -> None:
    """Ping no longer. What is waiting is still sent."""
    for signal in _RECEIVERS:
        signal.disconnect(dispatch_uid=_NAME)


def _started(run: CurrentRun, **_: Any) -> None:
    _tell(Ping(PingKind.START, run.job_id, str(run.run_id)))


def _succeeded(run: CurrentRun, **_: Any) -> None:
    _tell(Ping(PingKind.SUCCESS, run.job_id, str(run.run_id)), is_end=True)


def _failed(run: CurrentRun, error: str, **_: Any) -> None:
    _tell(Ping(PingKind.FAILURE, run.job_id, str(run.run_id), error), is_end=True)


def _lost(run: CurrentRun, **_: Any) -> None:
    text = "The process that ran the task died, or did not stop in time."
    _tell(Ping(PingKind.FAILURE, run.job_id, str(run.run_id), text))


def _skipped(
    job_id: str, reason: str, first: datetime, last: datetime, count: int, **_: Any
) -> None:
    if reason in _MISSED:
        text = f"Not run: {count} due from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC."
        _tell(Ping(PingKind.FAILURE, job_id, text=text))


def _broken(job_id: str, error: str, **_: Any) -> None:
    _tell(Ping(PingKind.FAILURE, job_id, text=error))


_RECEIVERS: dict[DyncronSignal, Callable[..., None]] = {
    signals.run_started: _started,
    signals.run_succeeded: _succeeded,
    signals.run_failed: _failed,
    signals.run_lost: _lost,
    signals.slots_skipped: _skipped,
    signals.job_broken: _broken,
}


def _tell(ping: Ping, *, is_end: bool = False) -> None:
    """Ping and, in a worker, wait for it if it is about the end of a run.

    The process of a worker may be gone at once, without a word: RQ forks one for each job, which
    leaves by ``os._exit()``. A scheduler, which tells in its event loop, must not wait, nor read.
    """
    if _is_in_event_loop():
        put(ping)
        return
    try:
        # Over the worker's own connection: most jobs have no address, and cost no more than that.
        address = read_addresses([ping]).get(ping)
    except Exception:
        put(ping)  # the line tries again, over a connection of its own
    else:
        if address is None:
            return
        ping = replace(ping, address=address)
        put(ping)
    if is_end:
        wait_for(ping)


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
