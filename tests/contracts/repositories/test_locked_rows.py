"""A row that somebody has locked, in a transaction left open, holds up nobody else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from django_dyncron.core.claims import Heartbeat
from django_dyncron.core.policies import RunStatus
from django_dyncron.core.runs import Record
from tests.contracts.repositories.sites import LEASE, DatabaseSite, at, left_run, slots_of

BEAT = Heartbeat("a", at("12:01:20"), timedelta(seconds=30))


@pytest.fixture
def prompt(postgres_database_url: str) -> Iterator[psycopg.Connection]:
    """Somebody else's connection, with a transaction open."""
    with psycopg.connect(postgres_database_url) as connection:
        yield connection


@pytest.fixture(autouse=True)
def _in_no_time(postgres: DatabaseSite) -> Iterator[None]:
    began = time.monotonic()
    yield
    # No lock is waited for: that would take the five seconds of lock_timeout.
    assert time.monotonic() - began < 4.5


def lock(prompt: psycopg.Connection, table: str, job_id: str = "report") -> None:
    prompt.execute(f"SELECT 1 FROM django_dyncron_{table} WHERE job_id = '{job_id}' FOR UPDATE")


def until_somebody_waits(prompt: psycopg.Connection) -> None:
    waiting = "SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    while prompt.execute(waiting).fetchone() is None:
        time.sleep(0.01)


async def test_a_locked_job_is_passed_over(
    postgres: DatabaseSite, prompt: psycopg.Connection
) -> None:
    await postgres.add()
    await postgres.add("other")
    await postgres.planned()
    lock(prompt, "cronjob")
    assert slots_of(await postgres.claim("12:01:00")) == [("other", "12:01")]
    prompt.rollback()
    assert slots_of(await postgres.claim("12:01:00")) == [("report", "12:01")]


async def test_what_a_locked_job_could_not_be_told_is_written_later(
    postgres: DatabaseSite, prompt: psycopg.Connection
) -> None:
    await postgres.add()
    run = await postgres.claimed()
    lock(prompt, "cronjob")
    enqueued = Record(run, RunStatus.ENQUEUED, enqueued_at=at("12:01:01"))
    await postgres.repository.record([enqueued])
    assert (await postgres.row()).status == "enqueued"
    assert await postgres.last_run_at() is None
    await postgres.repository.beat(BEAT)
    assert await postgres.last_run_at() is None
    prompt.rollback()
    await postgres.repository.beat(BEAT)
    assert await postgres.last_run_at() == at("12:01:01")


async def test_a_job_edited_while_its_record_waits_is_told_all_the_same(
    postgres: DatabaseSite, prompt: psycopg.Connection
) -> None:
    await postgres.add()
    run = await postgres.claimed()
    lock(prompt, "cronrun")
    enqueued = Record(run, RunStatus.ENQUEUED, enqueued_at=at("12:01:01"))
    recording = asyncio.ensure_future(postgres.repository.record([enqueued]))
    await asyncio.to_thread(until_somebody_waits, prompt)
    prompt.execute("UPDATE django_dyncron_cronjob SET task_name = 'shop.audit'")
    prompt.commit()
    await recording
    await postgres.repository.beat(BEAT)
    assert await postgres.last_run_at() == at("12:01:01")
    edited = prompt.execute("SELECT task_name FROM django_dyncron_cronjob")
    assert edited.fetchone() == ("shop.audit",)


async def test_a_local_run_of_a_locked_job_starts_and_ends(
    postgres: DatabaseSite, prompt: psycopg.Connection
) -> None:
    await postgres.add()
    run = await postgres.claimed()
    lock(prompt, "cronjob")
    assert await postgres.repository.start_run(run, "a", at("12:01:01"), LEASE)
    await postgres.repository.finish_run(run, "failed", at("12:01:02"), "out of paper")
    assert (await postgres.row()).status == "failed"
    prompt.rollback()
    await postgres.repository.beat(BEAT)
    assert await postgres.last_error() == "out of paper"
    assert await postgres.last_run_at() == at("12:01:01")


async def test_what_a_deleted_job_would_have_been_told_is_forgotten(
    postgres: DatabaseSite,
) -> None:
    await postgres.add()
    run = await postgres.claimed()
    await postgres.execute("DELETE FROM django_dyncron_cronjob")
    await postgres.repository.record([Record(run, RunStatus.FAILED, error="no such task")])
    await postgres.add()
    await postgres.repository.beat(BEAT)
    await postgres.repository.beat(BEAT)
    assert (await postgres.row()).status == "failed"


async def test_reviewing_sweeping_and_pruning_pass_over_locked_rows(
    postgres: DatabaseSite, prompt: psycopg.Connection
) -> None:
    for job_id in ("report", "other"):
        await postgres.add(job_id)
        await postgres.put_run(left_run("11:58:00", job_id), "claimed")
        await postgres.put_run(left_run("11:59:00", job_id, lease_until=None), "succeeded")
    await postgres.planned()
    lock(prompt, "cronjob")
    lock(prompt, "cronrun")
    assert await postgres.repository.review("Europe/Paris", at("12:00:40")) == 1
    await postgres.planned()
    assert await postgres.repository.replan_after(at("12:00:00")) == 1
    sweep = await postgres.repository.sweep(postgres.sweeping("12:00:40"))
    assert [run.job_id for run in sweep.runs] == []
    assert (await postgres.outcomes())["other", "11:58"] == "skipped superseded"
    assert (await postgres.outcomes())["report", "11:58"] == "claimed"
    assert await postgres.repository.prune(at("12:00:00"), 100) == 2
    assert set(await postgres.rows()) == {("report", "11:58"), ("report", "11:59")}
