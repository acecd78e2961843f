"""A local task that a test holds in its hand: it begins, waits, and ends when it is let go."""

from __future__ import annotations

from tests.integration.cluster import Cluster, Replica, wait_until
from tests.integration.lines import read_lines


class Work:
    """A job whose one due run begins, waits to be let go, and ends."""

    def __init__(self, cluster: Cluster, job_id: str = "work") -> None:
        self._cluster = cluster
        self._run = cluster.runs.filter(job_id=job_id)
        self._log = cluster.directory / f"{job_id}.lines"
        self._until = cluster.directory / f"{job_id}.until"
        payload = {"path": str(self._log), "until": str(self._until)}
        cluster.add_missed([job_id], 1, task_name="tests.integration.tasks.work", payload=payload)

    def lines(self) -> list[str]:
        return [line[0] for line in read_lines(self._log)]

    def wait_until_begun(self) -> None:
        wait_until(lambda: self.lines() == ["begun"], 5, lambda: self._cluster.output)

    def let_go(self) -> None:
        self._until.touch()

    def status(self) -> str:
        return self._run.get().status


class Worker(Work):
    """A replica that is executing one such run."""

    def __init__(self, cluster: Cluster, **dyncron: object) -> None:
        super().__init__(cluster)
        self.replica: Replica = cluster.start_one(
            "--tick-interval", "0.1", ENQUEUER="local", **dyncron
        )
        self.wait_until_begun()
