"""Real processes on PostgreSQL: they crash, are killed, and lose their connections."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import connections

from django_dyncron.models import CronJob
from tests.chaos.crashing import QUEUE_TABLE
from tests.chaos.crew import Crew
from tests.chaos.real_servers import judge_cluster
from tests.chaos.scoreboard import FIRST_SEED, Score, sizes
from tests.integration.cluster import FILE_ENQUEUER, Cluster, Slots
from tests.integration.lines import read_lines
from tests.servers import PostgresServer

CRASH = 0.15
"""How likely a process dies at each step of a batch."""
MINUTE = timedelta(minutes=1)
_HERE = "tests.chaos.crashing"


@dataclass(frozen=True)
class Size:
    processes: int
    jobs: int
    slots: int


def crashing_settings(cluster: Cluster) -> dict[str, object]:
    fate = {"crash": CRASH, "log": str(cluster.directory / "crashes")}
    file = {"path": str(cluster.file), **fate}
    return {
        # Locks are not asked for slots older than this.
        "LOCK_TTL_SECONDS": 7_200,
        "LOCK_PROVIDER": {"BACKEND": f"{_HERE}.CrashingLocks", "OPTIONS": fate},
        "ENQUEUER": {"BACKEND": f"{_HERE}.CrashingFileEnqueuer", "OPTIONS": file},
        "ENQUEUERS": {"table": {"BACKEND": f"{_HERE}.CrashingTableEnqueuer", "OPTIONS": fate}},
    }


@dataclass
class Cutter:
    """Cuts every connection to a database whenever five more slots were enqueued."""

    cluster: Cluster
    server: PostgresServer
    database: str
    cuts: int = 0
    _seen: int = 0

    def __call__(self) -> None:
        count = len(read_lines(self.cluster.file))
        if count >= self._seen + 5:
            self._seen = count
            self.cluster.disconnect()
            self.cuts += self.server.terminate_backends(self.database)


@sizes(short=Size(3, 12, 10), full=Size(8, 100, 60))
def test_processes_that_crash_and_lose_their_connections(
    score: Score,
    size: Size,
    postgres_cluster: Cluster,
    postgres_server: PostgresServer,
    postgres_database_url: str,
) -> None:
    cluster = postgres_cluster
    cluster.sql(f"CREATE TABLE {QUEUE_TABLE} (job_id text, slot text)")
    crew = Crew(cluster, crashing_settings(cluster))
    crew.assemble(size.processes)
    cutter = Cutter(cluster, postgres_server, postgres_database_url.rpartition("/")[2])
    due: Slots = set()
    for number in range(0, size.jobs, 2):
        due |= cluster.add_missed([f"job-{number}"], size.slots)
        due |= cluster.add_missed([f"job-{number + 1}"], size.slots, enqueuer="table")
        cutter()
        crew.tend()
        time.sleep(0.15)
    crew.tend_until(lambda: crew.has_closed(len(due)), seconds=400, meanwhile=cutter)
    crew.dismiss()
    with connections[cluster.alias].cursor() as cursor:
        cursor.execute(f"SELECT job_id, slot FROM {QUEUE_TABLE}")
        inside = cursor.fetchall()
    verdict = judge_cluster(cluster, due, inside, may_repeat=True)
    verdict.faults = crew.deaths + cutter.cuts
    score.add(verdict)
    assert (verdict.slots, verdict.delivered) == (size.jobs * size.slots, verdict.slots)
    assert len(inside) == verdict.slots / 2
    # How many die is chance; that many of both kinds strike is what makes this a test.
    assert verdict.faults > size.jobs // 10
    assert cutter.cuts > 0


@sizes(short=Size(2, 20, 5), full=Size(4, 100, 50))
def test_processes_that_are_killed(score: Score, size: Size, postgres_cluster: Cluster) -> None:
    cluster, random = postgres_cluster, Random(FIRST_SEED)
    crew = Crew(cluster, {"ENQUEUER": slow_file(cluster, 0.01), "LOCK_PROVIDER": "postgres"})
    crew.assemble(size.processes)
    due: Slots = set()
    for number in range(size.jobs):
        due |= cluster.add_missed([f"job-{number}"], size.slots)
        lines = len(read_lines(cluster.file))
        if number % 5 == 4:
            crew.tend_until(lambda: len(read_lines(cluster.file)) > lines, seconds=60)  # noqa: B023
            crew.kill_one(random)
            crew.tend()
    crew.tend_until(lambda: crew.has_closed(len(due)), seconds=120)
    crew.dismiss()
    verdict = judge_cluster(cluster, due, may_repeat=True)
    verdict.faults = crew.deaths
    score.add(verdict, FIRST_SEED)
    assert (verdict.slots, verdict.delivered) == (size.jobs * size.slots, verdict.slots)
    assert crew.deaths == size.jobs // 5


def slow_file(cluster: Cluster, seconds: float) -> dict[str, object]:
    options = {"path": str(cluster.file), "seconds": seconds}
    return {"BACKEND": FILE_ENQUEUER, "OPTIONS": options}


@pytest.mark.chaos
def test_three_minutes_of_killing_in_real_time(score: Score, postgres_cluster: Cluster) -> None:
    """Nothing is helped along: leases end by themselves, and slots come when they come."""
    cluster, random = postgres_cluster, Random(FIRST_SEED)
    # A minute's runs take ten seconds to hand over, so that kills strike amid them.
    settings = {"ENQUEUER": slow_file(cluster, 0.1), "LOCK_PROVIDER": "postgres"}
    crew = Crew(cluster, settings, options=(), waits=True)
    first = (datetime.now(UTC) + timedelta(seconds=65)).replace(second=0, microsecond=0)
    minutes = [first + number * MINUTE for number in range(4)]
    job_ids = [f"job-{number}" for number in range(100)]
    cluster.jobs.bulk_create(
        CronJob(
            job_id=job_id,
            task_name="anything",
            cron_expression="* * * * *",
            misfire_policy="fire_all",
            plan_from=first - MINUTE,
            ends_at=minutes[-1],
        )
        for job_id in job_ids
    )
    due = {(job_id, f"{minute:%Y-%m-%dT%H:%MZ}") for job_id in job_ids for minute in minutes}
    crew.assemble(4)
    for pause in pauses(random, until=minutes[-1] + timedelta(seconds=5)):
        time.sleep(pause)
        crew.kill_one(random)
        crew.tend()
    crew.tend_until(lambda: crew.has_closed(len(due)), seconds=200)
    crew.dismiss()
    verdict = judge_cluster(cluster, due, may_repeat=True)
    verdict.faults = crew.deaths
    score.add(verdict, FIRST_SEED)
    assert (verdict.slots, verdict.delivered) == (400, 400)
    assert crew.deaths > 30


def pauses(random: Random, until: datetime) -> Iterator[float]:
    while datetime.now(UTC) < until:
        yield random.uniform(2, 6)
