"""Real workers, whose processes may end in any way: the monitor has heard how each run went."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests import monitor
from tests.engines.engine import Engine
from tests.integration.cluster import Cluster, wait_until
from tests.monitor import Monitor

_CELERY = (
    *("-m", "celery", "-A", "tests.engines.on_celery", "worker", "-Q", "celery"),
    *("--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"),
)
WORKERS: dict[str, tuple[str, tuple[str, ...]]] = {
    # a process for each job, which leaves by os._exit()
    "rq": ("rq", ("-m", "django", "rqworker", "default")),
    # processes that are ended after each task
    "celery": ("celery", (*_CELERY, "--concurrency", "2", "--max-tasks-per-child", "1")),
    "celery-threads": ("celery", (*_CELERY, "--pool", "threads")),
    "huey": ("huey", ("-m", "django", "run_huey", "-k", "process")),
    "dramatiq": ("dramatiq", ()),
    "procrastinate": ("procrastinate", ()),
    "django_tasks_db": ("django_tasks_db", ()),
}


@pytest.fixture
def hc() -> Iterator[Monitor]:
    with monitor.serving() as served:
        yield served


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("rq", "celery") else pytest.param(name, marks=pytest.mark.slow)
        for name in WORKERS
    ],
)
def test_each_end_is_told(
    name: str, hc: Monitor, postgres_cluster: Cluster, redis_url: str, tmp_path: Path
) -> None:
    engine_name, command = WORKERS[name]
    kind: type[Engine] = import_module(f"tests.engines.on_{engine_name}.engine").Engine
    engine = kind(postgres_cluster, redis_url)
    postgres_cluster.environment |= {
        "DJANGO_SETTINGS_MODULE": "tests.engines.pinged",
        "DYNCRON_TEST_ENGINE": engine_name,
        "DYNCRON_TEST_PING_URL": hc.url,
    }
    if command:
        engine.worker_command = command  # type: ignore[misc]
    try:
        engine.start()
        jobs = [_job(number, hc, tmp_path) for number in range(4)]
        ids = engine.add_together(jobs)
        runs = postgres_cluster.runs
        wait_until(
            lambda: runs.filter(status__in=["succeeded", "failed"]).count() == 4,
            20,
            lambda: engine.output,
        )
        engine.worker.stop()
        hc.wait_for(8)
    finally:
        engine.close()
    expected = set()
    for number, job_id in enumerate(ids):
        rid = str(runs.get(job_id=job_id).id)
        end = "/fail" if number % 2 else ""
        expected |= {(f"/{number}/start", rid), (f"/{number}{end}", rid)}
    assert len(hc.requests) == 8, engine.output
    assert set(hc.told()) == expected
    bodies = {request.body for request in hc.requests if request.path.endswith("/fail")}
    assert bodies == {"RuntimeError: no paper"}


def _job(number: int, hc: Monitor, directory: Path) -> dict[str, Any]:
    task, values = ("fail", {"message": "no paper"}) if number % 2 else ("note", {"word": "x"})
    return {
        "task_name": f"tests.engines.tasks.{task}",
        "payload": {"path": str(directory / "notes"), **values},
        "ping_url": f"{hc.url}{number}",
    }


def test_a_scheduler_that_gives_up_a_task_says_so_before_it_leaves(
    hc: Monitor, postgres_cluster: Cluster
) -> None:
    payload = {"path": str(postgres_cluster.directory / "lines"), "until": "/nowhere"}
    postgres_cluster.add_missed(
        ["slow-report"],
        1,
        task_name="tests.integration.tasks.work",
        payload=payload,
        ping_url=f"{hc.url}slow-report",
    )
    replica = postgres_cluster.start_one(
        "--tick-interval",
        "0.1",
        ENQUEUER="local",
        PING_URLS=[hc.url],
        SHUTDOWN_GRACE_SECONDS=0.1,
    )
    hc.wait_for(1)
    assert replica.stop() == 1
    rid = str(postgres_cluster.runs.get(status="lost").id)
    assert hc.told() == [("/slow-report/start", rid), ("/slow-report/fail", rid)]
