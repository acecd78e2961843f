"""What an engine is to the tests: a queue system, its worker, and a scheduler that feeds it."""

from __future__ import annotations

import itertools
import json
from abc import ABC
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import psutil

from django_dyncron.models import CronRun
from tests.integration.cluster import Cluster, Process, wait_until

_numbers = itertools.count(1)


class Engine(ABC):
    """One queue system at work on the database of a ``cluster``.

    A package ``tests.engines.on_<name>`` says what sets it apart, by these attributes.
    """

    name: ClassVar[str]
    worker_command: ClassVar[Sequence[str]]
    """What follows ``python`` on the command line that starts a worker."""
    ready: ClassVar[str]
    """What the worker writes once it takes tasks."""
    native_task: ClassVar[str]
    """Name of a task of the queue's own kind that does as ``tasks.note`` does."""
    native_failing_task: ClassVar[str]
    """The same for ``tasks.fail``."""
    options: ClassVar[dict[str, Any]] = {}
    """Options of a job that the queue takes."""
    needs_redis: ClassVar[bool] = True
    has_tables: ClassVar[bool] = False
    """Whether its apps have migrations of their own."""
    knows_queues: ClassVar[bool] = False
    """Whether a job for a queue that nobody has declared is refused."""
    tells_native_tasks: ClassVar[bool] = True
    """Whether tasks of its own kind know their run, and the store hears of them."""
    takes_run_ids: ClassVar[bool] = True
    """Whether the queue's id of a task is the id of the run."""

    worker: Process

    def __init__(self, cluster: Cluster, redis_url: str | None) -> None:
        self.cluster = cluster
        cluster.environment = cluster.environment | self.environment(redis_url)

    @classmethod
    def settings_module(cls) -> str:
        return f"tests.engines.on_{cls.name}.settings"

    def environment(self, redis_url: str | None) -> dict[str, str]:
        """Return the variables that the processes get besides the database's."""
        queue = {"DYNCRON_TEST_QUEUE_URL": redis_url} if redis_url else {}
        return {"DJANGO_SETTINGS_MODULE": self.settings_module(), **queue}

    def start(self) -> None:
        """Start a worker and a scheduler; return when both are at work."""
        if self.has_tables:
            migrate = self.cluster.start_other("migrate", "-m", "django", "migrate", "-v", "0")
            assert migrate.exit_code() == 0, migrate.output
        self.start_worker()
        self.cluster.start_one("--tick-interval", "0.1")
        self.wait_until_ready()

    def start_worker(self) -> None:
        """Start a real worker of this queue."""
        self.worker = self.cluster.start_other(f"{self.name}-worker", *self.worker_command)

    def wait_until_ready(self) -> None:
        """Wait until the worker takes tasks."""

        def is_ready() -> bool:
            assert self.worker.is_alive, self.output
            return self.ready in self.worker.output

        wait_until(is_ready, 30, lambda: self.output)

    def close(self) -> None:
        """End the worker, and the processes it may have started."""
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self.worker.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        self.worker.kill()

    # --- jobs and what became of them -------------------------------------------------------------

    def add(self, task_name: str, payload: dict[str, Any], **values: Any) -> str:
        """Add a job with one due slot; return its id."""
        job_id = f"job-{next(_numbers)}"
        self.cluster.add_missed([job_id], 1, task_name=task_name, payload=payload, **values)
        return job_id

    def add_together(self, jobs: Sequence[dict[str, Any]]) -> list[str]:
        """Add jobs with one due slot each, all in one transaction; return their ids."""
        from django.db import transaction

        with transaction.atomic(using=self.cluster.alias):
            return [self.add(**job) for job in jobs]

    def run_of(self, job_id: str) -> CronRun:
        """Return the one run of a job."""
        return self.cluster.runs.get(job_id=job_id)

    def wait_for(self, job_id: str, status: str, seconds: float = 15) -> CronRun:
        """Return the run of a job once it has this status; fail if it never does."""
        runs = self.cluster.runs.filter(job_id=job_id)

        def is_there() -> bool:
            assert self.worker.is_alive, self.output
            assert self.cluster.replicas[0].is_alive, self.output
            return runs.filter(status=status).exists()

        complaint = f"never became {status}\n"
        wait_until(is_there, seconds, lambda: f"{list(runs.values())} {complaint}{self.output}")
        return runs.get()

    def run_again(self, run: CronRun, count: int) -> None:
        """Hand ``run`` to the queue again, ``count`` times."""
        script = ("-m", "tests.engines.again", str(run.id), str(count))
        process = self.cluster.start_other(f"again-{run.id}", *script)
        assert process.exit_code() == 0, process.output

    def identity(self, run: CronRun) -> dict[str, str | None]:
        """Return what :func:`current_run` must tell inside of ``run``, as JSON."""
        assert run.scheduled_for is not None
        slot = run.scheduled_for.isoformat()
        return json.loads(
            json.dumps({"run_id": str(run.id), "job_id": run.job_id, "scheduled_for": slot})
        )

    @property
    def output(self) -> str:
        return f"--- worker\n{self.worker.output}\n{self.cluster.output}"
