"""What a lock costs: one by one, a thousand at once, and by the plainest client code there is.

Run it with ``python -m benchmarks.locks``. Servers are started from the installed wheels, unless
``DYNCRON_TEST_POSTGRES_URL`` and ``DYNCRON_TEST_REDIS_URL`` name others. Figures are microseconds a
lock, medians of several rounds; the ratio is that of the batch to its floor.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django_dyncron.core.ports import ILockProvider

BATCH = 1_000
ROUNDS = 9
ONE_BY_ONE = 200
TTL_SECONDS = 60

_POSTGRES_FLOOR = """
    INSERT INTO locks AS held (lock_key, expires_at, owner)
    SELECT key, clock_timestamp() + interval '60 seconds', 'floor' FROM unnest(%s::text[]) AS key
    ON CONFLICT (lock_key) DO UPDATE SET expires_at = excluded.expires_at, owner = excluded.owner
    WHERE held.expires_at < clock_timestamp()
    RETURNING lock_key
"""
_SQLITE_FLOOR = """
    INSERT INTO locks (lock_key, expires_at, owner) SELECT value, '2026-11-30 10:58:00', 'floor'
    FROM json_each(?) WHERE true
    ON CONFLICT (lock_key) DO UPDATE SET expires_at = excluded.expires_at, owner = excluded.owner
    WHERE expires_at < '2026-11-30 10:57:00'
    RETURNING lock_key
"""
_REDIS_FLOOR = """
    local taken = {}
    for index, key in ipairs(KEYS) do
        if redis.call('SET', key, ARGV[1], 'NX', 'EX', 60) then taken[#taken + 1] = index end
    end
    return taken
"""

_numbers = count()


@dataclass
class Subject:
    """A provider, and a function that takes a batch of keys the plainest way."""

    name: str
    provider: ILockProvider
    floor: Callable[[list[str]], int]


def fresh_keys(number: int) -> list[str]:
    """Return keys that nobody has asked for yet, of the length they have in earnest."""
    return [
        f"dyncron:cron_lock:job-{next(_numbers):07}:2026-11-30T10:57:00+00:00"
        for _ in range(number)
    ]


def main() -> None:
    with ExitStack() as stack:
        postgres_url, redis_url = stack.enter_context(_servers())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _configure(postgres_url, directory / "locks.sqlite3")
        subjects = [
            stack.enter_context(_memory()),
            stack.enter_context(_redis(redis_url)),
            *stack.enter_context(_postgres(postgres_url)),
            stack.enter_context(_sqlite(directory / "locks.sqlite3")),
        ]
        asyncio.run(_report(subjects))


async def _report(subjects: list[Subject]) -> None:
    print(f"{'µs a lock':22}{'one by one':>12}{'batch':>10}{'floor':>10}{'ratio':>8}")
    for subject in subjects:
        if hasattr(subject.provider, "setup"):
            await subject.provider.setup()
        batch, floor = await _batch_and_floor(subject)
        single = await _one_by_one(subject)
        ratio = f"{batch / floor:8.2f}" if floor else f"{'':8}"
        print(f"{subject.name:22}{single:12.1f}{batch:10.2f}{floor:10.2f}{ratio}")
        await subject.provider.aclose()


async def _batch_and_floor(subject: Subject) -> tuple[float, float]:
    """Measure both in turns, so that a busy machine is busy for both."""
    ours, floors = [], []
    got = 0
    for _ in range(ROUNDS):
        keys = fresh_keys(BATCH)
        began = perf_counter()
        taken = await subject.provider.acquire_locks(keys, TTL_SECONDS)
        ours.append((perf_counter() - began) / BATCH)
        assert len(taken) == BATCH
        await subject.provider.release_locks(keys)
        keys = fresh_keys(BATCH)
        began = perf_counter()
        got = subject.floor(keys)
        floors.append((perf_counter() - began) / BATCH)
        assert got in (0, BATCH)
    measured = statistics.median(floors) if got else 0.0
    return statistics.median(ours) * 1e6, measured * 1e6


async def _one_by_one(subject: Subject) -> float:
    rounds = []
    for _ in range(ROUNDS):
        keys = fresh_keys(ONE_BY_ONE)
        began = perf_counter()
        for key in keys:
            assert await subject.provider.acquire_lock(key, TTL_SECONDS)
        rounds.append((perf_counter() - began) / ONE_BY_ONE)
        await subject.provider.release_locks(keys)
    return statistics.median(rounds) * 1e6


@contextmanager
def _servers() -> Iterator[tuple[str, str]]:
    from tests.servers import PostgresServer, ValkeyServer

    with ExitStack() as stack:
        postgres_url = os.environ.get("DYNCRON_TEST_POSTGRES_URL")
        if postgres_url is None:
            postgres = PostgresServer.start()
            stack.callback(postgres.stop, "immediate")
            postgres_url = postgres.url
        redis_url = os.environ.get("DYNCRON_TEST_REDIS_URL")
        if redis_url is None:
            valkey = ValkeyServer.start()
            stack.callback(valkey.stop)
            redis_url = valkey.url
        server = PostgresServer.attach(postgres_url)
        name = f"dyncron_bench_{os.getpid()}"
        stack.callback(server.drop_database, name)
        yield server.create_database(name), redis_url


def _configure(postgres_url: str, file: Path) -> None:
    import django
    from django.conf import settings

    from tests.databases import settings_from_url

    databases = {
        "default": settings_from_url(postgres_url),
        "sqlite": settings_from_url(f"sqlite:///{file}"),
    }
    settings.configure(DATABASES=databases, USE_TZ=True)
    django.setup()


@contextmanager
def _memory() -> Iterator[Subject]:
    from django_dyncron.locks.memory import MemoryLockProvider

    yield Subject("memory", MemoryLockProvider(), lambda keys: 0)


@contextmanager
def _redis(url: str) -> Iterator[Subject]:
    import redis

    from django_dyncron.locks.redis import RedisLockProvider

    with redis.Redis.from_url(url) as client:

        def floor(keys: list[str]) -> int:
            return len(client.eval(_REDIS_FLOOR, len(keys), *keys, "floor"))

        yield Subject("redis", RedisLockProvider(url=url), floor)


@contextmanager
def _postgres(url: str) -> Iterator[list[Subject]]:
    import psycopg

    from django_dyncron.locks.postgres import PostgresLockProvider

    with psycopg.connect(url, autocommit=True) as connection:

        def floor(keys: list[str]) -> int:
            return len(connection.execute(_POSTGRES_FLOOR, [keys]).fetchall())

        provider = PostgresLockProvider(table_name="locks")
        yield [
            Subject("postgres", provider, floor),
            Subject("postgres, in a claim", provider.within_claims(), floor),
        ]


@contextmanager
def _sqlite(file: Path) -> Iterator[Subject]:
    import json

    from django_dyncron.locks.sqlite import SqliteLockProvider

    with closing(sqlite3.connect(file, isolation_level=None)) as connection:

        def floor(keys: list[str]) -> int:
            return len(connection.execute(_SQLITE_FLOOR, [json.dumps(keys)]).fetchall())

        yield Subject("sqlite", SqliteLockProvider("sqlite", "locks"), floor)


if __name__ == "__main__":
    main()
