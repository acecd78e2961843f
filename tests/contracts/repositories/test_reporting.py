"""What every durable repository makes of what workers tell of a run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from django_dyncron.core.claims import Heartbeat
from django_dyncron.core.policies import RunStatus
from django_dyncron.core.runs import Record
from tests.contracts.repositories.sites import LEASE, Site, at


async def test_a_run_begins_once_and_its_end_is_written(site: Site) -> None:
    await site.add()
    run = await site.claimed()
    await site.repository.record(
        [Record(run, RunStatus.ENQUEUED, "77", enqueued_at=at("12:01:02"))]
    )
    assert await site.repository.report_start(run.run_id, "report", "q-77")
    assert not await site.repository.report_start(run.run_id, "report", "q-78")
    row = await site.row()
    assert (row.status, row.task_id, row.enqueued_at) == ("running", "q-77", at("12:01:02"))
    assert row.started_at is not None
    await site.repository.report_end(run.run_id, "report", "out of\0 paper")
    row = await site.row()
    assert (row.status, row.error) == ("failed", "out of\N{REPLACEMENT CHARACTER} paper")
    assert (await site.job()).last_error == row.error
    assert row.lease_until is None
    assert row.finished_at is not None
    assert row.finished_at >= row.started_at
    await site.repository.report_end(run.run_id, "report")
    assert ((await site.row()).status, (await site.job()).last_error) == ("succeeded", "")
    assert not await site.repository.report_start(run.run_id, "report")
    assert (await site.row()).status == "succeeded"


async def test_a_run_that_is_not_there_does_not_begin(site: Site) -> None:
    assert not await site.repository.report_start(UUID(int=1), "report")
    await site.repository.report_end(UUID(int=1), "report", "what?")
    assert await site.rows() == {}


async def test_an_end_without_a_beginning_is_not_believed(site: Site) -> None:
    await site.add()
    run = await site.claimed()
    await site.repository.report_end(run.run_id, "report", "who?")
    assert ((await site.row()).status, (await site.job()).last_error) == ("claimed", "")


@pytest.mark.parametrize(
    "record",
    [
        {"status": RunStatus.ENQUEUED, "task_id": "77", "enqueued_at": at("12:01:02")},
        {"status": RunStatus.CLAIMED, "error": "no answer", "lease_until": at("12:01:32")},
        {"status": RunStatus.FAILED, "error": "no answer", "finished_at": at("12:01:32")},
        {"status": RunStatus.UNKNOWN, "error": "no answer", "finished_at": at("12:01:32")},
    ],
)
@pytest.mark.parametrize("how", ["record", "claim"])
async def test_a_worker_that_is_quicker_than_the_record_has_the_last_word(
    site: Site, record: dict[str, object], how: str
) -> None:
    await site.add()
    run = await site.claimed()
    late = Record(run, **record)  # type: ignore[arg-type]

    async def write(moment: str) -> None:
        if how == "record":
            await site.repository.record([late])
        else:
            await site.claim(moment, records=[late])

    assert await site.repository.report_start(run.run_id, "report")
    await write("12:01:03")
    row = await site.row()
    assert (row.status, row.error, row.finished_at) == ("running", "", None)
    assert row.lease_until is not None
    assert row.lease_until > datetime.now(UTC) + timedelta(hours=23)
    assert row.task_id == record.get("task_id", "")
    assert await site.last_run_at() == record.get("enqueued_at")

    await site.repository.report_end(run.run_id, "report", "out of paper")
    await write("12:01:04")
    row = await site.row()
    assert (row.status, row.error, row.lease_until) == ("failed", "out of paper", None)
    assert (await site.job()).last_error == "out of paper"


async def test_a_record_of_an_attempt_that_was_taken_over_says_nothing(site: Site) -> None:
    await site.add()
    run = await site.claimed()
    assert await site.repository.report_start(run.run_id, "report")
    late = Record(replace(run, attempts=7), RunStatus.ENQUEUED, "77", enqueued_at=at("12:01:02"))
    await site.repository.record([late])
    assert ((await site.row()).task_id, await site.last_run_at()) == ("", None)


@pytest.mark.parametrize("status", [RunStatus.UNKNOWN, RunStatus.FAILED])
async def test_a_delivery_given_up_may_begin_all_the_same(site: Site, status: str) -> None:
    await site.add()
    run = await site.claimed()
    await site.repository.record(
        [Record(run, status, error="no answer", finished_at=at("12:01:32"))]
    )
    assert await site.repository.report_start(run.run_id, "report")
    row = await site.row()
    assert (row.status, row.error, row.finished_at) == ("running", "", None)


async def test_a_run_that_never_ends_is_lost_when_its_job_says_so(site: Site) -> None:
    await site.add(max_run_seconds=90)
    run = await site.claimed()
    began = datetime.now(UTC)
    assert await site.repository.report_start(run.run_id, "report")
    lease_until = (await site.row()).lease_until
    assert lease_until is not None
    assert timedelta(seconds=60) < lease_until - began < timedelta(seconds=150)
    moment = (lease_until + timedelta(seconds=1)).isoformat()
    sweep = await site.repository.sweep(site.sweeping(moment))
    assert (sweep.runs, [record.status for record in sweep.records]) == ([], ["lost"])
    row = await site.row()
    assert (row.status, row.error) == ("lost", "The process that ran the task died or stalled.")
    # It was not dead after all.
    await site.repository.report_end(run.run_id, "report")
    assert ((await site.row()).status, (await site.row()).error) == ("succeeded", "")


async def test_what_a_worker_ended_is_not_lost_afterwards(site: Site) -> None:
    await site.add()
    run = await site.claimed()
    assert await site.repository.report_start(run.run_id, "report")
    await site.repository.report_end(run.run_id, "report")
    await site.repository.record([Record(run, RunStatus.LOST, error="gone")])
    assert (await site.row()).status == "succeeded"


async def test_a_heartbeat_does_not_shorten_a_lease(site: Site) -> None:
    await site.add()
    run = await site.claimed("12:01:00", lease=timedelta(days=1))
    beat = Heartbeat(
        replica_id="a", at=at("12:01:15"), tick_interval=LEASE, keep={run.run_id}, lease=LEASE
    )
    await site.repository.beat(beat)
    assert (await site.row()).lease_until == at("2030-01-02T12:01:00Z")
