"""Instances of Huey without djhuey: real consumers, and what becomes of runs when one is ended."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines.tasks import read_notes
from tests.integration.cluster import Cluster, wait_until

PLAIN = "tests.engines.on_huey.plain"


@pytest.fixture
def cluster(
    postgres_alias: str,
    postgres_database_url: str,
    process_environment: Callable[[str], dict[str, str]],
    tmp_path: Path,
) -> Iterator[Cluster]:
    environment = process_environment(postgres_database_url) | {
        "DJANGO_SETTINGS_MODULE": "tests.engines.on_huey.plain_settings",
        "DYNCRON_TEST_QUEUE_FILE": str(tmp_path / "queue.sqlite3"),
    }
    cluster = Cluster(postgres_alias, tmp_path, environment)
    yield cluster
    cluster.close()


@pytest.mark.parametrize("worker_type", ["thread", "process"])
def test_a_run_whose_worker_is_ended_has_failed(
    cluster: Cluster, tmp_path: Path, worker_type: str
) -> None:
    notes = tmp_path / "notes"
    jobs = {
        "short": (f"{PLAIN}.write", {"path": str(notes), "word": "short"}, "default"),
        "long": ("tests.engines.tasks.hold", {"path": str(notes), "until": "never"}, "default"),
        "elsewhere": (f"{PLAIN}.weigh", {"path": str(notes), "word": "heavy"}, "parcels"),
    }
    for job_id, (task_name, payload, queue) in jobs.items():
        cluster.add_missed([job_id], 1, task_name=task_name, payload=payload, queue=queue)
    consumer = cluster.start_other(
        "consumer",
        *("-m", "huey.bin.huey_consumer", "tests.engines.on_huey.consumer.letters"),
        *("-k", worker_type, "-w", "2", "--no-periodic", "-m", "0.2"),
    )
    scheduler = cluster.start_other("scheduler", "-m", "django", "run_dyncron", "--once")
    assert scheduler.exit_code() == 0, scheduler.output

    def statuses() -> dict[str, tuple[str, str]]:
        rows = cluster.runs.values_list("job_id", "status", "error")
        return {job_id: (status, error) for job_id, status, error in rows}

    wait_until(
        lambda: (statuses()["short"][0], statuses()["long"][0]) == ("succeeded", "running"),
        20,
        lambda: f"{statuses()}\n{consumer.output}",
    )
    consumer.send(signal.SIGTERM)

    assert consumer.exit_code() == 0, consumer.output
    assert statuses() == {
        "short": ("succeeded", ""),
        "long": ("failed", "Its worker was stopped before it had ended."),
        "elsewhere": ("enqueued", ""),
    }
    words = {note["word"]: note["run"]["job_id"] for note in read_notes(notes)}
    assert words == {"short": "short", "begun": "long"}
