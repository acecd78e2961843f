"""The parts "of your own" that the architecture page prints, at work."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.core.cache import cache
from django.test import override_settings

from django_dyncron import (
    CronJobDefinition,
    DynamicScheduler,
    EnqueueError,
    EnqueueNotSent,
    EnqueueRefused,
)
from django_dyncron.conf import (
    get_settings,
    load_enqueuer,
    load_lock_provider,
    load_repository,
)
from django_dyncron.testing import FakeClock, InMemoryRepository, ListRepository, RecordingEnqueuer
from tests.docs.blocks import ROOT

SIX = "2026-11-30T06:00:01Z"
KEY = "dyncron:cron_lock:ping:2026-11-30T06:00:00+00:00"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))


# --- the repository -------------------------------------------------------------------------------


def _write(file: Path, **values: Any) -> None:
    job = {"job_id": "ping", "task_name": "shop.tasks.ping", "cron_expression": "* * * * *"}
    file.write_text(json.dumps([job | values]))


async def test_the_file_repository_is_read_on_each_tick(tmp_path: Path) -> None:
    from file_repository import JsonFileRepository

    file = tmp_path / "crontab.json"
    _write(file)
    clock, queue = FakeClock(SIX), RecordingEnqueuer()
    scheduler = DynamicScheduler(JsonFileRepository(str(file)), queue, clock=clock)
    await scheduler.tick()
    clock.advance(60)
    await scheduler.tick()
    _write(file, cron_expression="0 7 * * *")
    clock.advance(60)
    await scheduler.tick()
    assert queue.slots == [("ping", "2026-11-30T06:00Z"), ("ping", "2026-11-30T06:01Z")]


async def test_the_file_repository_remembers_when_a_job_last_ran(tmp_path: Path) -> None:
    from file_repository import JsonFileRepository

    file = tmp_path / "crontab.json"
    _write(file)
    queue = RecordingEnqueuer()
    await DynamicScheduler(JsonFileRepository(str(file)), queue, clock=FakeClock(SIX)).tick()
    # Another process, in the same minute, without a lock between the two.
    await DynamicScheduler(JsonFileRepository(str(file)), queue, clock=FakeClock(SIX)).tick()
    assert queue.slots == [("ping", "2026-11-30T06:00Z")]
    (job,) = await JsonFileRepository(str(file)).get_active_jobs()
    assert job.last_run_at is not None
    assert job.last_run_at.isoformat() == "2026-11-30T06:00:01+00:00"


def test_the_file_repository_is_built_by_the_settings(tmp_path: Path) -> None:
    repository = {"BACKEND": "file_repository.JsonFileRepository", "OPTIONS": {"path": "x.json"}}
    with override_settings(DYNCRON={"REPOSITORY": repository}):
        assert type(load_repository(get_settings())).__name__ == "JsonFileRepository"


# --- the lock provider ----------------------------------------------------------------------------


@pytest.fixture
def empty_cache() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.mark.usefixtures("empty_cache")
async def test_the_cache_locks_are_held_by_one() -> None:
    from cache_locks import CacheLockProvider

    ours, theirs = CacheLockProvider(), CacheLockProvider()
    assert await ours.acquire_lock(KEY, 60) is True
    assert await ours.acquire_lock(KEY, 60) is False
    assert await theirs.acquire_lock(KEY, 60) is False
    await theirs.release_lock(KEY)
    assert await theirs.acquire_lock(KEY, 60) is False
    await ours.release_lock(KEY)
    assert await theirs.acquire_lock(KEY, 60) is True
    await ours.release_lock(KEY)
    assert await ours.acquire_lock(KEY, 60) is False


@pytest.mark.usefixtures("empty_cache")
async def test_the_cache_locks_may_be_anybodys_once_they_end() -> None:
    from cache_locks import CacheLockProvider

    ours, theirs = CacheLockProvider(), CacheLockProvider()
    assert await ours.acquire_lock(KEY, 1) is True
    cache.clear()
    assert await theirs.acquire_lock(KEY, 60) is True
    await ours.release_lock(KEY)
    assert await ours.acquire_lock(KEY, 60) is False


@pytest.mark.usefixtures("empty_cache")
async def test_the_cache_locks_keep_two_schedulers_apart() -> None:
    from cache_locks import CacheLockProvider

    queue = RecordingEnqueuer()
    for _ in range(2):
        jobs = ListRepository([CronJobDefinition("ping", "shop.tasks.ping", "* * * * *")])
        await DynamicScheduler(jobs, queue, CacheLockProvider(), clock=FakeClock(SIX)).tick()
    assert queue.slots == [("ping", "2026-11-30T06:00Z")]


def test_the_cache_locks_are_built_by_the_settings() -> None:
    provider = {"BACKEND": "cache_locks.CacheLockProvider", "OPTIONS": {"cache": "default"}}
    with override_settings(DYNCRON={"LOCK_PROVIDER": provider}):
        assert type(load_lock_provider(get_settings())).__name__ == "CacheLockProvider"


# --- the enqueuer ---------------------------------------------------------------------------------


class _Receiver(BaseHTTPRequestHandler):
    status: ClassVar[int]
    received: ClassVar[list[tuple[str, dict[str, Any]]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.headers["Idempotency-Key"], json.loads(body)))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b"task 7")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[HTTPServer]:
    _Receiver.status, _Receiver.received = 200, []
    with HTTPServer(("127.0.0.1", 0), _Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _address(server: HTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}/tasks"


async def test_the_webhook_gets_a_run_with_its_identity(receiver: HTTPServer) -> None:
    from webhook_queue import WebhookTaskEnqueuer

    clock = FakeClock("2026-11-30T05:59:50Z")
    store = InMemoryRepository(clock.now)
    job = CronJobDefinition("ping", "shop.tasks.ping", "* * * * *", {"host": "north"}, "mail")
    store.add(job)
    scheduler = DynamicScheduler(store, WebhookTaskEnqueuer(_address(receiver)), clock=clock)
    await scheduler.tick()
    clock.advance(15)
    result = await scheduler.tick()
    await scheduler.aclose()
    assert (result.claimed, result.enqueued, result.failed) == (1, 1, 0)
    assert _Receiver.received == [
        (
            "b5bae53f-cbd7-5d92-9b0f-419e9e77225b",
            {"task": "shop.tasks.ping", "payload": {"host": "north"}, "queue": "mail"},
        )
    ]


@pytest.mark.parametrize(
    "status,error", [(404, EnqueueRefused), (422, EnqueueRefused), (503, EnqueueError)]
)
async def test_the_webhook_tells_what_can_never_work(
    receiver: HTTPServer, status: int, error: type[EnqueueError]
) -> None:
    from webhook_queue import WebhookTaskEnqueuer

    _Receiver.status = status
    with pytest.raises(EnqueueError) as caught:
        await WebhookTaskEnqueuer(_address(receiver)).enqueue_task("shop.tasks.ping", {}, "mail")
    assert type(caught.value) is error


async def test_the_webhook_knows_that_nothing_was_sent() -> None:
    from webhook_queue import WebhookTaskEnqueuer

    with HTTPServer(("127.0.0.1", 0), _Receiver) as server:
        address = _address(server)
    with pytest.raises(EnqueueNotSent):
        await WebhookTaskEnqueuer(address).enqueue_task("shop.tasks.ping", {}, "mail")


def test_the_webhook_is_built_by_the_settings() -> None:
    options = {"url": "https://north.example.com/tasks", "timeout_seconds": 2}
    enqueuer = {"BACKEND": "webhook_queue.WebhookTaskEnqueuer", "OPTIONS": options}
    with override_settings(DYNCRON={"ENQUEUER": enqueuer}):
        assert type(load_enqueuer("", get_settings())).__name__ == "WebhookTaskEnqueuer"
