"""Taking one run that is kept for a replica: what every durable repository promises of it."""

from __future__ import annotations

from uuid import uuid4

import pytest

from django_dyncron.core.policies import RunStatus
from django_dyncron.core.runs import Record
from tests.contracts.repositories.sites import Site, at, left_run, run_by_hand


async def test_the_run_is_taken_before_its_lease_ends_and_no_other(site: Site) -> None:
    await site.add("report")
    await site.add("other")
    run = run_by_hand(lease_until=at("12:01:00"))
    await site.put_run(run, "claimed", replica="b")
    await site.put_run(left_run("11:59:00", "other"), "claimed")
    sweep = await site.repository.sweep(site.sweeping("12:00:10", only=run.run_id))
    assert [taken.run_id for taken in sweep.runs] == [run.run_id]
    assert sweep.records == []
    row = await site.row("by hand")
    assert (row.replica, row.attempts, row.lease_until) == ("b", 1, at("12:01:10"))
    left = await site.row("11:59", "other")
    assert (left.replica, left.attempts, left.lease_until) == ("gone", 1, at("12:00:00"))


async def test_it_is_the_owner_s_alone(site: Site) -> None:
    await site.add("report")
    run = run_by_hand(lease_until=at("12:01:00"))
    await site.put_run(run, "claimed", replica="b")
    assert not (await site.repository.sweep(site.sweeping("12:00:10", replica_id="a"))).runs
    strange = site.sweeping("12:00:10", only=run.run_id, replica_id="a")
    assert not (await site.repository.sweep(strange)).runs
    assert not (await site.repository.sweep(site.sweeping("12:00:10", only=uuid4()))).runs
    assert (await site.row("by hand")).attempts == 0


@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
async def test_its_owner_dies_before_it_takes_it(site: Site, delivery: str) -> None:
    await site.add("report")
    run = run_by_hand(lease_until=at("12:01:00"), delivery=delivery)
    await site.put_run(run, "claimed", replica="b")
    sweep = await site.repository.sweep(site.sweeping("12:01:01", replica_id="a"))
    assert [taken.run_id for taken in sweep.runs] == [run.run_id]


async def test_a_job_that_was_deleted_meanwhile_is_not_run(site: Site) -> None:
    run = run_by_hand(lease_until=at("12:01:00"))
    await site.put_run(run, "claimed", replica="b")
    sweep = await site.repository.sweep(site.sweeping("12:00:10", only=run.run_id))
    assert not sweep.runs
    assert await site.outcomes() == {("report", "by hand"): "skipped deleted"}


async def test_a_queue_in_the_database_gets_it_in_the_same_transaction(site: Site) -> None:
    await site.add("report")
    run = run_by_hand(lease_until=at("12:01:00"))
    await site.put_run(run, "claimed", replica="b")
    order = site.sweeping(
        "12:00:10",
        only=run.run_id,
        deliver_inside=lambda runs, using, savepoint, moment: [
            Record(each, RunStatus.ENQUEUED, task_id="7", enqueued_at=moment) for each in runs
        ],
    )
    sweep = await site.repository.sweep(order)
    assert not sweep.runs
    assert [record.run.run_id for record in sweep.records] == [run.run_id]
    row = await site.row("by hand")
    assert (row.status, row.task_id, row.enqueued_at) == ("enqueued", "7", at("12:00:10"))
