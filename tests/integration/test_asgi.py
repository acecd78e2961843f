"""The scheduler inside an ASGI server: by the lifespan protocol alone, and under a real server."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.db.backends.signals import connection_created

from django_dyncron.asgi import SchedulerLifespan
from tests.integration.cluster import FILE_ENQUEUER, Cluster, wait_until

Message = MutableMapping[str, Any]
LIFESPAN: Message = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}}


class Server:
    """Speaks the lifespan protocol to ``application`` as a server does."""

    def __init__(self, application: Callable[..., Awaitable[None]]) -> None:
        self.sent: list[Message] = []
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._answered = asyncio.Event()
        self._life = asyncio.ensure_future(application(LIFESPAN, self._inbox.get, self._send))

    async def startup(self) -> Message:
        return await self._exchange("lifespan.startup")

    async def shutdown(self) -> Message:
        answer = await self._exchange("lifespan.shutdown")
        await asyncio.wait_for(self._life, 5)
        return answer

    async def _exchange(self, message: str) -> Message:
        self._answered.clear()
        self._inbox.put_nowait({"type": message})
        await asyncio.wait_for(self._answered.wait(), 10)
        return self.sent[-1]

    async def _send(self, message: Message) -> None:
        self.sent.append(message)
        self._answered.set()


@contextmanager
def _connecting_threads(alias: str) -> Iterator[list[str]]:
    """Note the thread of each connection that is opened to ``alias``."""
    threads: list[str] = []

    def note(connection: Any, **_: Any) -> None:
        if connection.alias == alias:
            threads.append(threading.current_thread().name)

    connection_created.connect(note)
    try:
        yield threads
    finally:
        connection_created.disconnect(note)


async def _hello(scope: Message, receive: object, send: Callable[[Message], Any]) -> None:
    if scope["type"] != "http":
        raise ValueError(f"Only requests, not {scope['type']}.")
    await send({"type": "http.response.start", "status": 204})


@pytest.fixture
def cluster(postgres_cluster: Cluster, settings: Any) -> Cluster:
    """A cluster whose settings are also those of this process."""
    options = {"path": str(postgres_cluster.file)}
    settings.DYNCRON = {
        "DATABASE": postgres_cluster.alias,
        "ENQUEUER": {"BACKEND": FILE_ENQUEUER, "OPTIONS": options},
        "LOCK_PROVIDER": "none",
        "TICK_INTERVAL_SECONDS": 0.1,
    }
    return postgres_cluster


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in a file
            await asyncio.sleep(0.02)


def test_runs_happen_between_startup_and_shutdown(cluster: Cluster) -> None:
    due = cluster.add_missed(["report"], 3)

    async def live() -> list[Message]:
        server = Server(SchedulerLifespan(_hello))
        await server.startup()
        await _until(lambda: len(cluster.enqueued()) == 3)
        await server.shutdown()
        return server.sent

    assert asyncio.run(live()) == [
        {"type": "lifespan.startup.complete"},
        {"type": "lifespan.shutdown.complete"},
    ]
    assert sorted(cluster.enqueued()) == sorted(due)
    assert cluster.runs.filter(status="enqueued").count() == 3


class Lodger:
    """An application with a lifespan of its own, which at ``fails_at`` does as ``how`` says."""

    def __init__(self, fails_at: str = "", how: str = "") -> None:
        self.threads: dict[str, str] = {}
        self.at_shutdown: Callable[[], object] = lambda: None
        self.seen_at_shutdown: object = None
        self._fails_at = fails_at
        self._how = how

    async def __call__(self, scope: Message, receive: Callable[[], Any], send: Any) -> None:
        assert scope["type"] == "lifespan"
        for part in ("startup", "shutdown"):
            assert await receive() == {"type": f"lifespan.{part}"}
            self.threads[part] = await sync_to_async(lambda: threading.current_thread().name)()
            if part == "shutdown":
                self.seen_at_shutdown = self.at_shutdown()
            if part != self._fails_at:
                await send({"type": f"lifespan.{part}.complete"})
                continue
            if self._how == "says so":
                await send({"type": f"lifespan.{part}.failed", "message": "no room"})
            raise RuntimeError("no room")


def lived_through(cluster: Cluster, lodger: Lodger) -> list[Message]:
    """Run a server with ``lodger`` until three runs were enqueued, or it would not start."""

    async def live() -> list[Message]:
        server = Server(SchedulerLifespan(lodger))
        if (await server.startup())["type"] == "lifespan.startup.complete":
            await _until(lambda: len(cluster.enqueued()) == 3)
            await server.shutdown()
        return server.sent

    return asyncio.run(live())


def test_a_lifespan_of_the_application_is_around_the_ticks(cluster: Cluster) -> None:
    cluster.add_missed(["report"], 3)
    lodger = Lodger()
    lodger.at_shutdown = lambda: len(cluster.enqueued())
    with _connecting_threads(cluster.alias) as connecting:
        sent = lived_through(cluster, lodger)
    assert sent == [
        {"type": "lifespan.startup.complete"},
        {"type": "lifespan.shutdown.complete"},
    ]
    assert lodger.seen_at_shutdown == 3
    assert list(lodger.threads) == ["startup", "shutdown"]
    assert set(lodger.threads.values()).isdisjoint(connecting)


def test_an_application_that_will_not_start_starts_no_scheduler(cluster: Cluster) -> None:
    cluster.add_missed(["report"], 3)
    assert lived_through(cluster, Lodger("startup", "says so")) == [
        {"type": "lifespan.startup.failed", "message": "no room"}
    ]
    assert cluster.enqueued() == []


@pytest.mark.parametrize("how", ["says so", "raises"])
def test_an_application_that_fails_to_end_is_not_hushed_up(cluster: Cluster, how: str) -> None:
    cluster.add_missed(["report"], 3)
    assert lived_through(cluster, Lodger("shutdown", how))[1:] == [
        {"type": "lifespan.shutdown.failed", "message": "no room"}
    ]


def test_an_application_that_raises_unasked_has_no_lifespan(cluster: Cluster) -> None:
    cluster.add_missed(["report"], 3)
    assert lived_through(cluster, Lodger("startup", "raises")) == [
        {"type": "lifespan.startup.complete"},
        {"type": "lifespan.shutdown.complete"},
    ]


def test_requests_reach_the_application(cluster: Cluster) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(SchedulerLifespan(_hello)({"type": "http"}, receive, send))
    assert sent == [{"type": "http.response.start", "status": 204}]


def test_the_scheduler_has_one_connection_in_a_thread_of_its_own(cluster: Cluster) -> None:
    """Requests that use the database meanwhile get another thread and another connection."""

    def query() -> str:
        with connections[cluster.alias].cursor() as cursor:
            cursor.execute("SELECT 1")
        return threading.current_thread().name

    async def live() -> tuple[set[str], list[str]]:
        server = Server(SchedulerLifespan(_hello))
        with _connecting_threads(cluster.alias) as connecting:
            await server.startup()
            await _until(lambda: len(cluster.enqueued()) == 3)
            of_scheduler = list(connecting)
            of_requests = {await sync_to_async(query)() for _ in range(5)}
            await sync_to_async(connections.close_all)()
            await server.shutdown()
        return of_requests, of_scheduler

    cluster.add_missed(["report"], 3)
    of_requests, of_scheduler = asyncio.run(live())
    assert len(of_scheduler) == len(of_requests) == 1
    assert of_requests.isdisjoint(of_scheduler)
    assert threading.main_thread().name not in of_scheduler
    cluster.disconnect()
    wait_until(lambda: _clients(cluster) == 0, seconds=5)


def test_a_wrong_setting_fails_the_start_of_the_server(cluster: Cluster, settings: Any) -> None:
    settings.DYNCRON = {"LOCK_PROVIDER": "rediss"}

    async def live() -> Message:
        return await Server(SchedulerLifespan(_hello)).startup()

    answer = asyncio.run(live())
    assert answer["type"] == "lifespan.startup.failed"
    assert answer["message"].startswith("DYNCRON[\"LOCK_PROVIDER\"] is 'rediss'")


def test_under_uvicorn(postgres_cluster: Cluster) -> None:
    cluster = postgres_cluster
    due = cluster.add_missed(["report"], 3)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = cluster.start_other(
        "uvicorn",
        *("-m", "uvicorn", "tests.integration.server:application", "--lifespan", "on"),
        *("--port", str(port)),
        TICK_INTERVAL_SECONDS=0.2,
    )
    cluster.wait_for_enqueued(3)
    wait_until(lambda: _status(port, "/admin/login/") == 200, 10, lambda: server.output)
    cluster.disconnect()
    wait_until(lambda: _clients(cluster) == 1, seconds=5)
    server.send(signal.SIGINT)
    server.exit_code(5)
    assert "Application shutdown complete." in server.output
    assert "stopped" in server.output
    assert "Traceback" not in server.output
    assert sorted(cluster.enqueued()) == sorted(due)
    assert cluster.runs.filter(status="enqueued").count() == 3


def _status(port: int, path: str) -> int | None:
    """Return the status of a page of 127.0.0.1; ``None`` if nobody listens yet."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except ConnectionError:
        return None
    finally:
        connection.close()


def _clients(cluster: Cluster) -> int:
    """Count the connections to the database of ``cluster``, without the one that asks."""
    statement = """
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    """
    with psycopg.connect(cluster.environment["DYNCRON_TEST_DATABASE_URL"]) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])
