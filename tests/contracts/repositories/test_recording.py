"""What every durable repository promises about what became of runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from django_dyncron.core.claims import Heartbeat
from django_dyncron.core.policies import RunStatus
from django_dyncron.core.runs import Record
from tests.contracts.repositories.sites import LEASE, Site, at, left_run


async def test_a_record_is_written_on_the_run_and_on_the_job(site: Site) -> None:
    await site.add()
    run = await site.claimed()
    await site.repository.record(
        [Record(run, RunStatus.ENQUEUED, task_id="77", enqueued_at=at("12:01:02"))]
    )
    row = await site.row()
    assert (row.status, row.task_id, row.lease_until) == ("enqueued", "77", None)
    assert row.enqueued_at == await site.last_run_at() == at("12:01:02")
    await site.repository.update_last_run("report", at("12:00:00"))
    assert await site.last_run_at() == at("12:01:02")
    await site.repository.update_last_run("report", at("12:05:00"))
    assert await site.last_run_at() == at("12:05:00")


async def test_records_travel_with_the_next_claim(site: Site) -> None:
    await site.add()
    run = await site.claimed()
    failed = Record(run, RunStatus.FAILED, error="no such task", finished_at=at("12:01:01"))
    await site.claim("12:02:00", records=[failed])
    row = await site.row()
    assert (row.status, row.error, row.finished_at) == ("failed", "no such task", at("12:01:01"))
    assert (await site.job()).last_error == "no such task"


async def test_only_the_owner_writes_about_a_run(site: Site) -> None:
    await site.add()
    stale = await site.claimed()
    (fresh,) = (await site.repository.sweep(site.sweeping("12:02:00"))).runs
    assert (fresh.attempts, fresh.replica) == (2, "a")
    await site.repository.record([Record(stale, RunStatus.FAILED, error="late")])
    row = await site.row()
    assert (row.status, row.replica, row.error) == ("claimed", "b", "")
    assert not await site.repository.start_run(stale, "a", at("12:02:01"), LEASE)
    await site.repository.record([Record(fresh, RunStatus.ENQUEUED, enqueued_at=at("12:02:02"))])
    assert (await site.row()).status == "enqueued"
    # It is in the queue: nobody has it in hand any more.
    await site.repository.record([Record(fresh, RunStatus.FAILED, error="too late")])
    assert (await site.row()).status == "enqueued"


async def test_a_run_given_back_has_no_owner_and_may_be_sent_even_at_most_once(site: Site) -> None:
    await site.add(delivery="at_most_once")
    run = await site.claimed()
    back = Record(run, RunStatus.CLAIMED, lease_until=at("12:01:05"), is_given_back=True)
    await site.repository.record([back])
    assert (await site.row()).replica == ""
    sweep = await site.repository.sweep(site.sweeping("12:01:05"))
    assert [run.attempts for run in sweep.runs] == [2]
    assert (await site.row()).replica == "b"


@pytest.mark.parametrize(
    "error, task_id, stored",
    [
        ("a\0b", "1", ("a\N{REPLACEMENT CHARACTER}b", "1")),
        ("no file \udce9", "1", ("no file ?", "1")),
        ("", "x" * 300, ("", "x" * 255)),
        ("", "\udce9\0", ("", "?\N{REPLACEMENT CHARACTER}")),
    ],
)
async def test_a_record_that_no_column_could_hold_is_mended(
    site: Site, error: str, task_id: str, stored: tuple[str, str]
) -> None:
    await site.add()
    run = await site.claimed()
    record = Record(run, RunStatus.ENQUEUED, task_id, error, enqueued_at=at("12:01:01"))
    await site.repository.record([record])
    row = await site.row()
    assert (row.error, row.task_id, (await site.job()).last_error) == (*stored, stored[0])


async def test_a_run_is_started_and_finished_by_its_owner_alone(site: Site) -> None:
    await site.add()
    run = await site.claimed()
    repository = site.repository
    assert not await repository.start_run(run, "b", at("12:01:01"), LEASE)
    assert await repository.start_run(run, "a", at("12:01:02"), LEASE)
    assert not await repository.start_run(run, "a", at("12:01:03"), LEASE)
    row = await site.row()
    assert (row.status, row.lease_until) == ("running", at("12:02:02"))
    assert await site.last_run_at() == at("12:01:02")
    await repository.finish_run(replace(run, attempts=2), "succeeded", at("12:01:04"))
    assert (await site.row()).status == "running"
    await repository.finish_run(run, "failed", at("12:01:05"), "out of \udce9paper")
    row = await site.row()
    assert (row.status, row.lease_until, row.error) == ("failed", None, "out of ?paper")
    assert (await site.job()).last_error == "out of ?paper"
    assert not await repository.start_run(left_run("11:00:00"), "a", at("12:01:06"), LEASE)


async def test_a_heartbeat_extends_the_leases_its_replica_holds(site: Site) -> None:
    runs = {name: left_run("11:59:00", name) for name in ("mine", "running", "not-mine", "sent")}
    await site.put_run(runs["mine"], "claimed", "a")
    await site.put_run(runs["running"], "running", "a")
    await site.put_run(runs["not-mine"], "claimed", "b")
    await site.put_run(runs["sent"], "enqueued", "a")
    keep = [run.run_id for run in runs.values()]
    beat = Heartbeat("a", at("12:00:10"), timedelta(seconds=30), keep, LEASE)
    await site.repository.beat(beat)
    assert {
        job_id: f"{row.lease_until.astimezone(UTC):%H:%M:%S}"
        for (job_id, _), row in (await site.rows()).items()
    } == {"mine": "12:01:10", "running": "12:01:10", "not-mine": "12:00:00", "sent": "12:00:00"}
