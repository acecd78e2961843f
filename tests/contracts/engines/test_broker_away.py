"""A broker that is away for two minutes of real time: jobs are late, none is lost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import psutil
import pytest

from tests.engines.engine import Engine
from tests.engines.tasks import read_notes
from tests.integration.cluster import Cluster, wait_until
from tests.integration.conftest import cluster_on, postgres_cluster  # noqa: F401
from tests.servers import ValkeyServer

AWAY_SECONDS = 120
JOBS = 10
MINUTES = 7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["celery", "rq"])
def test_jobs_are_late_and_none_is_lost(
    name: str,
    postgres_cluster: Cluster,  # noqa: F811
    disposable_valkey: ValkeyServer,
    tmp_path: Path,
) -> None:
    kind: type[Engine] = import_module(f"tests.engines.on_{name}.engine").Engine
    engine = kind(postgres_cluster, f"{disposable_valkey.url.rsplit('/', 1)[0]}/0")
    engine.start()
    notes = tmp_path / "notes"
    ids = {"fire_all": [], "fire_once": []}  # type: ignore[var-annotated]
    for policy, of_policy in ids.items():
        for number in range(JOBS):
            payload = {"path": str(notes), "word": f"{policy}-{number}"}
            of_policy.append(
                engine.add(
                    "tests.engines.tasks.note",
                    payload,
                    misfire_policy=policy,
                    ends_at=datetime.now(UTC) + timedelta(minutes=MINUTES),
                )
            )
    runs = postgres_cluster.runs
    all_ids = [*ids["fire_all"], *ids["fire_once"]]
    wait_until(lambda: runs.filter(status="succeeded").count() >= 2 * JOBS, 90, _output(engine))

    disposable_valkey.kill()
    cpu_before, began = _cpu_seconds(engine), time.monotonic()
    time.sleep(AWAY_SECONDS)
    cpu = _cpu_seconds(engine) - cpu_before
    waiting = runs.filter(status="claimed")
    assert waiting.filter(error="").count() == 0
    assert waiting.count() >= JOBS
    # Tried at once, at the next tick, after half a minute, a minute, two: no more than that.
    assert max(waiting.values_list("attempts", flat=True)) <= 6
    failing = postgres_cluster.jobs.filter(job_id__in=all_ids).exclude(last_error="")
    assert failing.count() == 2 * JOBS
    # A loop that did not pause would take all of a core.
    assert cpu < 0.2 * (time.monotonic() - began)

    disposable_valkey.restart()
    if not engine.worker.is_alive:
        # As a supervisor would.
        engine.start_worker()
    wait_until(
        lambda: (
            datetime.now(UTC) > _end_of(postgres_cluster, all_ids)
            and not runs.filter(status__in=["claimed", "enqueued", "running"]).exists()
        ),
        600,
        _output(engine),
    )
    engine.close()
    statuses = Counter(runs.filter(job_id__in=ids["fire_all"]).values_list("status", flat=True))
    assert set(statuses) == {"succeeded"}
    once = runs.filter(job_id__in=ids["fire_once"])
    assert set(once.values_list("status", "reason")) <= {
        ("succeeded", ""),
        ("skipped", "superseded"),
        ("skipped", "misfire"),
    }
    assert once.filter(reason="superseded").exists()
    for job_id in all_ids:
        slots = list(runs.filter(job_id=job_id).values_list("scheduled_for", flat=True))
        first, last = min(slots), max(slots)
        assert last - first >= timedelta(minutes=MINUTES - 1)
        assert sorted(slots) == [
            first + number * timedelta(minutes=1)
            for number in range((last - first) // timedelta(minutes=1) + 1)
        ]
    started = Counter(line["run"]["run_id"] for line in read_notes(notes))
    succeeded = runs.filter(status="succeeded").values_list("id", flat=True)
    assert set(started) == {str(run_id) for run_id in succeeded}


def _end_of(cluster: Cluster, ids: list[str]) -> datetime:
    return max(cluster.jobs.filter(job_id__in=ids).values_list("ends_at", flat=True))


def _cpu_seconds(engine: Engine) -> float:
    times = psutil.Process(engine.cluster.replicas[0].pid).cpu_times()
    return times.user + times.system


def _output(engine: Engine) -> Callable[[], str]:
    return lambda: engine.output
