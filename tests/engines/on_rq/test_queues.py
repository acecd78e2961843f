"""How RQ's queues, on a real server, take batches: each id once, each error where it belongs."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.test import modify_settings, override_settings
from redis import Redis
from redis.client import Pipeline
from rq import Queue
from rq.decorators import job
from rq.job import Job

from django_dyncron import background_task
from django_dyncron.core.definitions import Run
from django_dyncron.enqueuers.rq import RqTaskEnqueuer
from tests.integration.locks.relay import Relay
from tests.servers import ValkeyServer
from tests.shop import tasks as shop

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
REPORT = "tests.shop.tasks.build_report"
JSON = "rq.serializers.JSONSerializer"


@background_task
@job("default", connection=Redis(), timeout="never")  # RQ finds out when it makes the job
def badly_declared() -> None: ...


class InterruptedQueue(Queue):
    """A queue whose every batch is preceded, at the last moment, by a job of somebody else."""

    def enqueue_many(
        self, job_datas: Any, pipeline: Pipeline | None = None, group_id: str | None = None
    ) -> list[Job]:
        first, *others = job_datas
        Queue(self.name, self.connection).enqueue_call(first.func, job_id=first.job_id)
        return super().enqueue_many([first, *others], pipeline, group_id)


class StoppingQueue(Queue):
    """A queue whose server comes to a halt when it is about to take a batch."""

    server_pid = 0

    def enqueue_many(self, *arguments: Any, **options: Any) -> list[Job]:
        jobs = super().enqueue_many(*arguments, **options)
        os.kill(self.server_pid, signal.SIGSTOP)
        return jobs


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
async def make(redis_url: str) -> AsyncIterator[Callable[..., RqTaskEnqueuer]]:
    """Return enqueuers at this test's Redis, or elsewhere, or of django-rq if the URL is blank."""
    made = []

    def make(url: str = redis_url, **options: Any) -> RqTaskEnqueuer:
        made.append(RqTaskEnqueuer(url or None, **options))
        return made[-1]

    yield make
    for enqueuer in made:
        await enqueuer.aclose()


@pytest.fixture
def _queues(redis_url: str) -> Iterator[None]:
    """Queues of django-rq: one of the usual kind, and three that are odd."""
    interrupted = f"{__name__}.InterruptedQueue"
    queues = {
        "default": {"URL": redis_url},
        "gone": {"URL": "redis://127.0.0.1:9/0"},
        "interrupted": {"URL": redis_url, "QUEUE_CLASS": interrupted},
        "here": {"URL": redis_url, "ASYNC": False},
    }
    with override_settings(RQ_QUEUES=queues):
        yield


def a_run(number: int = 1, task_name: str = REPORT, **others: Any) -> Run:
    payload = others.pop("payload", {"day": "2026-11-01"})
    queue = others.pop("queue", "default")
    return Run(UUID(int=number), f"job-{number}", task_name, payload, queue, SLOT, **others)


async def outcomes(enqueuer: RqTaskEnqueuer, runs: Sequence[Run]) -> list[str]:
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [attempt.run for attempt in attempts] == list(runs)
    return [attempt.outcome.value for attempt in attempts]


def ids(client: Redis, queue: str = "default") -> list[int]:
    """The numbers of the runs in a queue, in order."""
    return [UUID(job_id).int for job_id in Queue(queue, connection=client).job_ids]


async def test_a_batch_keeps_its_order_and_the_run_s_ids(
    make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    enqueuer = make()
    runs = [a_run(number) for number in range(250)]
    runs.append(a_run(999, options={"at_front": True}))
    attempts = await enqueuer.enqueue_runs(runs, lambda: True)
    assert [attempt.task_id for attempt in attempts] == [str(run.run_id) for run in runs]
    assert ids(client) == [999, *range(250)]


@pytest.mark.parametrize("serializer", [None, JSON])
async def test_a_repeated_id_is_in_the_queue_once(
    serializer: str | None, make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    enqueuer = make(serializer=serializer)
    assert await outcomes(enqueuer, [a_run(1), a_run(1), a_run(2)]) == ["enqueued"] * 3
    first = Job.fetch(str(UUID(int=1)), connection=client, serializer=serializer)
    first.meta["note"] = "not to be overwritten"
    first.save_meta()
    assert await outcomes(enqueuer, [a_run(1), a_run(3), a_run(2)]) == ["enqueued"] * 3
    assert await enqueuer.enqueue_run(a_run(3)) == str(UUID(int=3))
    assert ids(client) == [1, 2, 3]
    assert "note" in Job.fetch(first.id, connection=client, serializer=serializer).meta


async def test_an_id_is_remembered_after_its_job_was_taken(
    make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    assert await outcomes(make(), [a_run(1)]) == ["enqueued"]
    client.lpop("rq:queue:default")
    assert await outcomes(make(), [a_run(1)]) == ["enqueued"]
    assert ids(client) == []
    client.delete(f"rq:job:{UUID(int=1)}")
    assert await outcomes(make(), [a_run(1)]) == ["enqueued"]
    assert ids(client) == [1]


async def test_replicas_at_once_enqueue_each_run_once(
    make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    runs = [a_run(number) for number in range(300)]
    replicas = [make() for _ in range(4)]
    answers = await asyncio.gather(*(outcomes(replica, runs) for replica in replicas))
    assert answers == [["enqueued"] * 300] * 4
    assert sorted(ids(client)) == list(range(300))


@pytest.mark.usefixtures("_queues")
async def test_what_somebody_else_adds_in_the_middle_of_a_batch_is_not_added_again(
    make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    runs = [a_run(number, queue="interrupted") for number in (1, 2)]
    assert await outcomes(make(""), runs) == ["enqueued", "enqueued"]
    assert ids(client, "interrupted") == [1, 2]


async def test_what_rq_cannot_make_a_job_of_stops_no_other(
    make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    name = f"{__name__}.badly_declared"
    with override_settings(DYNCRON={"ALLOWED_TASKS": [name]}):
        runs = [a_run(1), a_run(2, name, payload={}), a_run(3)]
        attempts = await make().enqueue_runs(runs, lambda: True)
    assert [attempt.outcome.value for attempt in attempts] == ["enqueued", "refused", "enqueued"]
    assert "RQ cannot make a job of it: TimeoutFormatError" in attempts[1].error
    assert ids(client) == [1, 3]


@pytest.mark.usefixtures("_queues")
async def test_a_queue_whose_server_is_gone_stops_no_other(
    make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    runs = [a_run(number, queue=["default", "gone"][number % 2]) for number in range(4)]
    expected = ["enqueued", "not_sent", "enqueued", "not_sent"]
    assert await outcomes(make(""), runs) == expected
    assert ids(client) == [0, 2]


async def test_a_server_that_comes_back(
    make: Callable[..., RqTaskEnqueuer], disposable_valkey: ValkeyServer
) -> None:
    enqueuer = make(disposable_valkey.url)
    assert await outcomes(enqueuer, [a_run(1)]) == ["enqueued"]
    disposable_valkey.kill()
    assert await outcomes(enqueuer, [a_run(2)]) == ["not_sent"]
    disposable_valkey.restart()
    assert await outcomes(enqueuer, [a_run(3)]) == ["enqueued"]


async def test_a_server_that_does_not_answer_holds_nobody_up(
    make: Callable[..., RqTaskEnqueuer], disposable_valkey: ValkeyServer
) -> None:
    enqueuer = make(f"{disposable_valkey.url}?socket_timeout=0.1")
    assert await outcomes(enqueuer, [a_run(1)]) == ["enqueued"]
    with ExitStack() as stack:
        os.kill(disposable_valkey.pid, signal.SIGSTOP)
        stack.callback(os.kill, disposable_valkey.pid, signal.SIGCONT)
        async with asyncio.timeout(5):
            assert await outcomes(enqueuer, [a_run(2)]) == ["not_sent"]


async def test_an_answer_that_was_lost_is_looked_up(
    make: Callable[..., RqTaskEnqueuer], redis_url: str, client: Redis
) -> None:
    async with Relay(redis_url, loses=b"EXEC").serving() as relay:
        enqueuer = make(relay.url)
        assert await outcomes(enqueuer, [a_run(1)]) == ["enqueued"]
        relay.answers_to_lose = 1
        assert await outcomes(enqueuer, [a_run(2), a_run(3)]) == ["enqueued", "enqueued"]
        assert relay.answers_to_lose == 0
        await enqueuer.aclose()
    assert ids(client) == [1, 2, 3]


async def test_what_nobody_knows_is_not_said_to_be_unsent(
    make: Callable[..., RqTaskEnqueuer],
    disposable_valkey: ValkeyServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StoppingQueue, "server_pid", disposable_valkey.pid)
    url = f"{disposable_valkey.url}?socket_timeout=0.1"
    stopping = {"URL": url, "QUEUE_CLASS": f"{__name__}.StoppingQueue"}
    with ExitStack() as stack:
        stack.callback(os.kill, disposable_valkey.pid, signal.SIGCONT)
        with override_settings(RQ_QUEUES={"default": stopping}):
            assert await outcomes(make(""), [a_run(1), a_run(2)]) == ["uncertain", "uncertain"]
    # It had taken them. Whoever tries again adds none.
    assert await outcomes(make(disposable_valkey.url), [a_run(1), a_run(2)]) == ["enqueued"] * 2
    with Redis.from_url(disposable_valkey.url) as client:
        assert ids(client) == [1, 2]


async def test_a_server_that_is_full_has_taken_nothing(
    make: Callable[..., RqTaskEnqueuer], disposable_valkey: ValkeyServer
) -> None:
    enqueuer = make(disposable_valkey.url)
    with Redis.from_url(disposable_valkey.url) as client:
        client.config_set("maxmemory", 1)
        assert await outcomes(enqueuer, [a_run(1), a_run(2)]) == ["not_sent", "not_sent"]
        client.config_set("maxmemory", 0)
        assert ids(client) == []
    assert await outcomes(enqueuer, [a_run(1), a_run(2)]) == ["enqueued", "enqueued"]


@pytest.mark.usefixtures("_queues")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("commit_mode", ["request_finished", "on_db_commit"])
def test_django_rq_is_not_left_to_wait_for_a_request_or_a_commit(
    commit_mode: str, make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    with override_settings(RQ={"COMMIT_MODE": commit_mode}), transaction.atomic():
        assert asyncio.run(outcomes(make(""), [a_run(1)])) == ["enqueued"]
        assert ids(client) == [1]


@pytest.mark.usefixtures("_queues")
async def test_a_queue_without_workers_runs_a_job_once(
    make: Callable[..., RqTaskEnqueuer], client: Redis
) -> None:
    shop.calls.clear()
    enqueuer = make("")
    assert enqueuer.lacks_workers == "queue 'here' of RQ_QUEUES (ASYNC is False)"
    task = {"task_name": "tests.shop.tasks.ping", "payload": {"url": "/"}, "queue": "here"}
    with modify_settings(INSTALLED_APPS={"append": ["tests.shop"]}):
        assert await outcomes(enqueuer, [a_run(1, **task), a_run(1, **task)]) == ["enqueued"] * 2
        assert await outcomes(enqueuer, [a_run(1, **task)]) == ["enqueued"]
        assert shop.calls == [("ping", "/")]
        forgotten = a_run(2, **task, options={"result_ttl": 0})
        assert await outcomes(enqueuer, [forgotten]) == ["enqueued"]
    assert shop.calls == [("ping", "/")] * 2
    assert Job.fetch(str(UUID(int=1)), connection=client).get_status() == "finished"
    assert not Job.exists(str(UUID(int=2)), connection=client)
