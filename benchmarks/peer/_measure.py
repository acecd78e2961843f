"""How every peer is measured, in a process and, if need be, an environment of its own.

The result goes to standard output as one line of JSON: milliseconds of an idle pass, seconds until
all due jobs were handed over, how many of them were, and what has to be said about it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from statistics import median
from time import perf_counter
from typing import Protocol

IDLE_PASSES = 10
LIMIT_SECONDS = 15.0
"""Longer than this nothing is waited for; what was done by then is extrapolated."""

# Near the present, because libraries judge by it; on a minute, so that nothing rolls over.
DUE_AT = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=1)
IDLE_AT = DUE_AT - timedelta(seconds=20)


class Peer(Protocol):
    """A scheduler with jobs that are all due every minute, none of them before ``DUE_AT``."""

    note: str

    def idle(self) -> None:
        """Make one pass of its loop, at ``IDLE_AT``."""

    def work(self) -> int:
        """Make one pass at ``DUE_AT``; return how many runs it handed over."""


def measure(open_peer: Callable[[argparse.Namespace], AbstractContextManager[Peer]]) -> None:
    """Set a peer up as the command line says, and print what it cost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--redis", required=True)
    options = parser.parse_args()
    with open_peer(options) as peer:
        idle = _idle(peer)
        seconds, done = _burst(peer, options.jobs)
        print(json.dumps({"idle": idle, "seconds": seconds, "done": done, "note": peer.note}))


def _idle(peer: Peer) -> float:
    peer.idle()
    passes: list[float] = []
    while len(passes) < IDLE_PASSES and sum(passes) < LIMIT_SECONDS:
        began = perf_counter()
        peer.idle()
        passes.append(perf_counter() - began)
    return median(passes) * 1e3


def _burst(peer: Peer, jobs: int) -> tuple[float, int]:
    began, done = perf_counter(), 0
    while done < jobs and perf_counter() - began < LIMIT_SECONDS:
        done += peer.work()
    return perf_counter() - began, done
