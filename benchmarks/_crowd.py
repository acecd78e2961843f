"""Replicas in processes of their own, started, set going together, and listened to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any

from benchmarks._stage import Stage, url_of

_PATIENCE_SECONDS = 120.0


class Replica:
    """A process of ``benchmarks._replica``."""

    def __init__(self, news: Queue[tuple[Replica, dict[str, Any]]], *options: str) -> None:
        self.count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks._replica", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        Thread(target=self._listen, args=[news], daemon=True).start()

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _listen(self, news: Queue[tuple[Replica, dict[str, Any]]]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            news.put((self, json.loads(line)))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Crowd:
    """Replicas on one database."""

    def __init__(self, replicas: int, *options: str) -> None:
        self._news: Queue[tuple[Replica, dict[str, Any]]] = Queue()
        self.replicas = [Replica(self._news, *options) for _ in range(replicas)]
        for _ in self.replicas:
            self.hear()

    def work_off(self, at: datetime, number: int, until: str = "at") -> float:
        """Let all see the instant ``at``; return the seconds until ``number`` runs are recorded.

        Or only until they are handed over, if ``until`` is ``"handed_over_at"``.
        """
        before = sum(replica.count for replica in self.replicas)
        began = ended = monotonic()
        for replica in self.replicas:
            replica.say(f"go {at.isoformat()}")
        while sum(replica.count for replica in self.replicas) < before + number:
            ended = max(ended, self.hear()[until])
        return ended - began

    def hear(self) -> dict[str, Any]:
        """Return the next piece of news, having noted whose count it is."""
        try:
            replica, news = self._news.get(timeout=_PATIENCE_SECONDS)
        except Empty:
            raise TimeoutError("the replicas fell silent") from None
        replica.count = news.get("count", replica.count)
        return news

    def memory(self) -> tuple[int, int]:
        """Return the resident memory of the first replica, present and peak, in bytes."""
        self.replicas[0].say("memory")
        news = self.hear()
        return news["memory"], news["peak"]


@contextmanager
def crowd_on(
    stage: Stage, alias: str, replicas: int, at: datetime, *options: str
) -> Iterator[Crowd]:
    """Start ``replicas`` processes, idle at the instant ``at``; stop them at the end."""
    given = ["--database", url_of(alias), "--redis", stage.redis_url, "--at", at.isoformat()]
    with ExitStack() as stack:
        crowd = Crowd(replicas, *given, *options)
        for replica in crowd.replicas:
            stack.callback(replica.close)
        yield crowd


def lock_providers(alias: str, redis_url: str) -> Mapping[str, Any]:
    """Return the lock providers to compare, by their names in the settings."""
    from django_dyncron.locks.postgres import PostgresLockProvider
    from django_dyncron.locks.redis import RedisLockProvider

    return {
        "none": None,
        "postgres": PostgresLockProvider(alias),
        "redis": RedisLockProvider(url=redis_url or "redis://127.0.0.1"),
    }
