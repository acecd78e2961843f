"""One queue system on its own settings: bare loops over its API, our enqueuer, whole ticks.

Run by ``benchmarks.queues``, in a process a queue. The result goes to standard output as one line
of JSON: seconds per round, by way. No worker runs; the queue is emptied before each turn.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from importlib import import_module
from time import perf_counter
from uuid import NAMESPACE_DNS, uuid5

import django
from asgiref.sync import sync_to_async
from django.core.management import call_command

from django_dyncron.core.definitions import Run
from django_dyncron.core.runs import Outcome

PAYLOAD = {"path": "/dev/null", "word": "benchmark"}
MINUTE = 60.0

Loop = Callable[[int], object]


def celery(count: int) -> None:
    from tests.engines.on_celery.tasks import note

    for _ in range(count):
        note.apply_async(kwargs=PAYLOAD)


def celery_batch(count: int) -> None:
    from tests.engines.on_celery.app import app
    from tests.engines.on_celery.tasks import note

    with app.producer_or_acquire() as producer, producer.batch(max_size=100):
        for _ in range(count):
            note.apply_async(kwargs=PAYLOAD, producer=producer)


def rq(count: int) -> None:
    import django_rq

    from tests.engines.on_rq.tasks import note

    queue = django_rq.get_queue("default")
    for _ in range(count):
        queue.enqueue(note, **PAYLOAD)


def rq_batch(count: int) -> None:
    import django_rq
    from rq import Queue

    from tests.engines.on_rq.tasks import note

    queue = django_rq.get_queue("default")
    for _ in range(count // 100):
        queue.enqueue_many([Queue.prepare_data(note, kwargs=PAYLOAD) for _ in range(100)])


def dramatiq(count: int) -> None:
    from tests.engines.on_dramatiq.tasks import note

    for _ in range(count):
        note.send(**PAYLOAD)


def huey(count: int) -> None:
    from tests.engines.on_huey.tasks import note

    for _ in range(count):
        note(**PAYLOAD)


def procrastinate(count: int) -> None:
    from tests.engines.on_procrastinate.tasks import note

    for _ in range(count):
        note.defer(**PAYLOAD)


def procrastinate_batch(count: int) -> None:
    from tests.engines.on_procrastinate.tasks import note

    for _ in range(count // 100):
        note.batch_defer(*[PAYLOAD] * 100)


def django_tasks_db(count: int) -> None:
    from tests.engines.on_django_tasks_db.tasks import note

    for _ in range(count):
        note.enqueue(**PAYLOAD)


SINGLE: dict[str, Loop] = {
    "celery": celery,
    "rq": rq,
    "dramatiq": dramatiq,
    "huey": huey,
    "procrastinate": procrastinate,
    "django_tasks_db": django_tasks_db,
}
BATCH: dict[str, Loop] = {
    "celery": celery_batch,
    "rq": rq_batch,
    "procrastinate": procrastinate_batch,
}
TABLES = {
    "procrastinate": "procrastinate_jobs",
    "django_tasks_db": "django_tasks_database_dbtaskresult",
}


def empty(name: str) -> None:
    """Empty the queue."""
    if name in TABLES:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {TABLES[name]} CASCADE")
        return
    import redis

    with redis.Redis.from_url(os.environ["DYNCRON_TEST_QUEUE_URL"]) as client:
        client.flushdb()


def our_ways(name: str, count: int) -> dict[str, Callable[[], Awaitable[float]]]:
    """Return what hands over ``count`` runs: our enqueuer, a tick with it, and the tick's floor.

    Each returns how many seconds it took.
    """
    from django.db import transaction

    from benchmarks._jobs import add_minutely, vacuum
    from benchmarks._postgres_floor import PostgresFloor
    from benchmarks._stage import BATCH as BATCH_SIZE
    from benchmarks._stage import NOON, url_of
    from django_dyncron.conf import get_settings, load_enqueuers
    from django_dyncron.core.scheduler import DynamicScheduler
    from django_dyncron.models import CronJob
    from django_dyncron.repositories.orm import DjangoCronJobRepository
    from django_dyncron.testing import FakeClock
    from tests.engines.engine import Engine

    engine: type[Engine] = import_module(f"tests.engines.on_{name}.engine").Engine
    queue = getattr(engine, "queue", "default")
    enqueuer = load_enqueuers(get_settings())["default"]
    clock = FakeClock(NOON)
    scheduler = DynamicScheduler(
        DjangoCronJobRepository(), enqueuer, clock=clock, batch_size=BATCH_SIZE
    )
    add_minutely("default", count, NOON)
    CronJob.objects.update(task_name=engine.native_task, payload=PAYLOAD, queue=queue)
    floor = PostgresFloor(url_of("default"), BATCH_SIZE, hand_over=BATCH.get(name) or SINGLE[name])
    namespace = uuid5(NAMESPACE_DNS, "benchmark")
    rounds = iter(range(10_000))

    def some_runs() -> list[Run]:
        number = next(rounds)
        return [
            Run(
                uuid5(namespace, f"{number}-{each}"),
                f"job-{each}",
                engine.native_task,
                PAYLOAD,
                queue,
                NOON + timedelta(minutes=number),
            )
            for each in range(count)
        ]

    async def enqueue(runs: Sequence[Run]) -> None:
        if enqueuer.transaction_alias() == "default":

            def inside() -> None:
                with transaction.atomic():
                    enqueuer.enqueue_runs_now(runs)

            await sync_to_async(inside)()
            return
        attempts = await enqueuer.enqueue_runs(runs, lambda: True)
        wrong = [each for each in attempts if each.outcome is not Outcome.ENQUEUED]
        assert not wrong, wrong[0]

    async def alone() -> float:
        runs = some_runs()
        began = perf_counter()
        await enqueue(runs)
        return perf_counter() - began

    async def next_minute(work_off: Callable[[], Awaitable[int]]) -> float:
        await sync_to_async(vacuum)("default")
        clock.advance(MINUTE)
        began = perf_counter()
        done = await work_off()
        seconds = perf_counter() - began
        assert done == count, done
        return seconds

    async def plain() -> int:
        return await sync_to_async(floor.work_off)(clock.now())

    async def tick() -> int:
        return (await scheduler.tick()).enqueued

    return {
        "enqueuer": alone,
        "floor": partial(next_minute, plain),
        "tick": partial(next_minute, tick),
    }


async def measure(name: str, count: int, rounds: int) -> dict[str, list[float]]:
    ways = await sync_to_async(our_ways)(name, count)
    bare = {"single": SINGLE[name], "batch": BATCH.get(name)}
    times: dict[str, list[float]] = {}
    gc.freeze()
    for number in range(rounds + 1):
        for way, loop in bare.items():
            if loop is None:
                continue
            await sync_to_async(empty)(name)
            began = perf_counter()
            await sync_to_async(loop)(count)
            times.setdefault(way, []).append(perf_counter() - began)
        for way, call in ways.items():
            await sync_to_async(empty)(name)
            times.setdefault(way, []).append(await call())
        if number == 0:
            times.clear()
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=SINGLE)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    options = parser.parse_args()
    django.setup()
    call_command("migrate", verbosity=0)
    print(json.dumps(asyncio.run(measure(options.name, options.runs, options.rounds))))


if __name__ == "__main__":
    main()
