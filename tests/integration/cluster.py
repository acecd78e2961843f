"""Real ``run_dyncron`` processes on one database: started, signalled, and read by a test."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from django.db import connections
from django.db.models import QuerySet

from django_dyncron.models import CronJob, CronRun
from tests.integration.lines import read_lines

FILE_ENQUEUER = "tests.integration.enqueuers.FileEnqueuer"

Slots: TypeAlias = set[tuple[str, str]]
"""Job ids and slots, the slots as ``2026-11-01T05:30Z``."""

_MINUTE = timedelta(minutes=1)


class Process:
    """A process of a test. ``output`` is all it has written, to either stream."""

    def __init__(
        self, name: str, command: Sequence[str], directory: Path, environment: dict[str, str]
    ) -> None:
        self.name = name
        self._log = directory / f"{name}.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return self._log.read_text()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def exit_code(self, seconds: float = 20) -> int:
        """Wait for the end of the process and return its exit code."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end\n{self.output}") from None

    def lives_on(self, seconds: float) -> bool:
        """Tell whether the process has not ended ``seconds`` from now."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def stop(self, seconds: float = 20) -> int:
        self.send(signal.SIGTERM)
        return self.exit_code(seconds)

    def kill(self) -> None:
        """End the process as a crash would; idempotent."""
        if self.is_alive:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        self.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()


class Replica(Process):
    """A ``run_dyncron`` with these ``options``."""

    def __init__(
        self, name: str, options: Sequence[str], directory: Path, environment: dict[str, str]
    ) -> None:
        self._heartbeat = directory / f"{name}.heartbeat"
        command = [
            *("-m", "django", "run_dyncron", "--replica-id", name),
            *("--heartbeat-file", str(self._heartbeat), *options),
        ]
        super().__init__(name, command, directory, environment)

    @property
    def heartbeat_age(self) -> float:
        """Seconds since its heartbeat file was touched."""
        return time.time() - self._heartbeat.stat().st_mtime

    def wait_for_first_tick(self) -> None:
        self._wait_for_heartbeat_after(0.0)

    def wait_for_tick(self) -> None:
        """Wait until a tick has ended well after this call; fail if none does.

        Ticks come more often than every ten seconds, so nothing else touches the file.
        """
        self._wait_for_heartbeat_after(time.time())

    def _wait_for_heartbeat_after(self, since: float) -> None:
        def has_ticked() -> bool:
            is_alive = self.is_alive  # asked first: it may tick once and end
            if self._heartbeat.exists() and self._heartbeat.stat().st_mtime > since:
                return True
            assert is_alive, self.output
            return False

        wait_until(has_ticked, 20, lambda: f"{self.name} did not tick\n{self.output}")


@dataclass
class Cluster:
    """Replicas that share the database ``alias``, and one file of what they enqueued."""

    alias: str
    directory: Path
    environment: dict[str, str]
    replicas: list[Replica] = field(default_factory=list)
    _others: list[Process] = field(default_factory=list)

    @property
    def jobs(self) -> QuerySet[CronJob]:
        jobs: QuerySet[CronJob] = CronJob.objects.using(self.alias)
        return jobs

    @property
    def runs(self) -> QuerySet[CronRun]:
        return CronRun.objects.using(self.alias)

    @property
    def file(self) -> Path:
        """What the file enqueuer writes to."""
        return self.directory / "enqueued"

    def start(self, count: int = 1, *options: str, **dyncron: Any) -> list[Replica]:
        """Start processes with these command line options and settings; return when all tick."""
        environment = self._environment_with(dyncron)
        first = len(self.replicas) + 1
        started = [
            Replica(f"replica-{number}", options, self.directory, environment)
            for number in range(first, first + count)
        ]
        self.replicas += started
        for replica in started:
            replica.wait_for_first_tick()
        return started

    def start_one(self, *options: str, **dyncron: Any) -> Replica:
        return self.start(1, *options, **dyncron)[0]

    def start_other(self, name: str, *command: str, **dyncron: Any) -> Process:
        """Start Python with another command line and these settings."""
        environment = self._environment_with(dyncron)
        process = Process(name, command, self.directory, environment)
        self._others.append(process)
        return process

    def stop(self) -> list[int]:
        """Stop all that live, all at once; return their exit codes."""
        living = [replica for replica in self.replicas if replica.is_alive]
        for replica in living:
            replica.send(signal.SIGTERM)
        return [replica.exit_code() for replica in living]

    def close(self) -> None:
        for process in (*self.replicas, *self._others):
            process.close()

    def _environment_with(self, dyncron: dict[str, Any]) -> dict[str, str]:
        settings = {
            "ENQUEUER": {"BACKEND": FILE_ENQUEUER, "OPTIONS": {"path": str(self.file)}},
            "LOCK_PROVIDER": "none",
            **dyncron,
        }
        return self.environment | {"DYNCRON_TEST_SETTINGS": json.dumps(settings)}

    # --- what they did ----------------------------------------------------------------------------

    def enqueued(self) -> list[tuple[str, str]]:
        """Return job and slot of everything enqueued so far, in order."""
        return [(line[0], line[1]) for line in read_lines(self.file)]

    def enqueue_times(self) -> list[float]:
        return [float(line[3]) for line in read_lines(self.file)]

    def wait_for_enqueued(self, count: int, seconds: float = 30) -> None:
        """Wait until at least ``count`` lines are there; fail if they never are."""
        wait_until(
            lambda: len(read_lines(self.file)) >= count,
            seconds,
            lambda: f"{len(read_lines(self.file))} of {count} were enqueued\n{self.output}",
        )

    @property
    def output(self) -> str:
        return "\n".join(f"--- {replica.name}\n{replica.output}" for replica in self.replicas)

    # --- what others do ---------------------------------------------------------------------------

    def add_missed(self, job_ids: Sequence[str], slots: int, **values: Any) -> Slots:
        """Insert minutely jobs that have missed their last ``slots`` and then ended.

        Return the jobs and slots that are due at once. They are recent, so that locks matter, and
        an end keeps the passing of a minute from adding one.
        """
        latest = datetime.now(UTC).replace(second=0, microsecond=0)
        values = {
            "task_name": "anything",
            "cron_expression": "* * * * *",
            "misfire_policy": "fire_all",
            "plan_from": latest - slots * _MINUTE,
            "ends_at": latest,
            **values,
        }
        self.jobs.bulk_create([CronJob(job_id=job_id, **values) for job_id in job_ids])
        moments = [latest - number * _MINUTE for number in range(slots)]
        return {(job_id, f"{slot:%Y-%m-%dT%H:%MZ}") for job_id in job_ids for slot in moments}

    def disconnect(self) -> None:
        """Close the test's own connection; the next query opens another one."""
        connections[self.alias].close()

    def sql(self, statement: str, *parameters: str | int | None) -> None:
        with connections[self.alias].cursor() as cursor:
            cursor.execute(statement, parameters)


def wait_until(
    condition: Callable[[], object], seconds: float, complaint: Callable[[], str] = str
) -> None:
    """Return once ``condition`` holds; fail with ``complaint`` if it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.01)


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Yield a function that tells the seconds since the block was entered."""
    began = time.monotonic()
    yield lambda: time.monotonic() - began
