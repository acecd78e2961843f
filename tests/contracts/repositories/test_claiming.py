"""What every durable repository promises about claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from django_dyncron.core.claims import StoredJob
from django_dyncron.core.planning import JobPlan, PlanningRules
from tests.contracts.repositories.sites import Site, at, left_run, slots_of


async def test_a_new_job_is_planned_from_its_creation_and_runs_nothing(site: Site) -> None:
    await site.add()
    horizon = await site.repository.look_ahead(at("12:00:30"))
    assert (horizon.has_work, horizon.needs_planning) == (True, True)
    batch = await site.planned()
    assert (batch.runs, batch.claimed, len(batch.plans), batch.is_full) == ([], 0, 1, False)
    assert (await site.job()).next_run_at == at("12:01:00")
    horizon = await site.repository.look_ahead(at("12:00:30"))
    assert (horizon.has_work, horizon.next_due_at) == (False, at("12:01:00"))


async def test_a_slot_is_won_once(site: Site) -> None:
    await site.add(payload={"a": 1}, queue="mail")
    await site.planned()
    batch = await site.claim("12:01:00")
    assert slots_of(batch) == [("report", "12:01")]
    (run,) = batch.runs
    assert (run.payload, run.queue, run.attempts) == ({"a": 1}, "mail", 1)
    row = await site.row()
    assert (row.status, row.replica, row.attempts) == ("claimed", "a", 1)
    assert row.lease_until == run.lease_until == at("12:02:00")
    again = await site.claim("12:01:00", replica_id="b")
    assert (again.runs, again.plans) == ([], [])


async def test_a_cursor_that_is_moved_back_wins_nothing_again(site: Site) -> None:
    await site.add()
    await site.claimed()
    await site.edit(next_run_at=at("12:01:00"))
    batch = await site.claim("12:01:30")
    assert (batch.runs, batch.claimed, len(batch.plans)) == ([], 0, 1)
    assert (await site.job()).next_run_at == at("12:02:00")


async def test_an_edit_of_any_kind_is_planned_from_the_tick_that_notices(site: Site) -> None:
    await site.add()
    await site.planned()
    await site.edit(cron_expression="*/5 * * * *")
    batch = await site.claim("12:07:00")
    assert (batch.runs, len(batch.plans)) == ([], 1)
    assert (await site.job()).next_run_at == at("12:10:00")


async def test_a_plan_for_a_row_that_changed_meanwhile_is_not_kept(site: Site) -> None:
    await site.add()
    await site.add("other")
    await site.planned()
    order = site.order("12:01:00")

    def plan(stored: StoredJob) -> JobPlan:
        if stored.definition.job_id == "report":
            site.edit_here(cron_expression="0 0 * * *")
        return order.plan(stored)

    batch = await site.repository.claim_due(replace(order, plan=plan))
    assert slots_of(batch) == [("other", "12:01")]
    assert [stored.definition.job_id for stored, _ in batch.plans] == ["other"]
    assert await site.outcomes() == {("other", "12:01"): "claimed"}


async def test_pausing_takes_the_cursor_and_resuming_never_fires_the_past(site: Site) -> None:
    await site.add()
    await site.planned()
    await site.edit(is_active=False)
    assert (await site.claim("12:03:00")).runs == []
    assert (await site.job()).next_run_at is None
    horizon = await site.repository.look_ahead(at("12:03:00"))
    assert (horizon.has_work, horizon.next_due_at) == (False, None)
    await site.edit(is_active=True)
    assert (await site.claim("12:05:00")).runs == []
    assert (await site.job()).next_run_at == at("12:06:00")


async def test_a_broken_job_is_marked_and_left_alone_until_it_is_edited(site: Site) -> None:
    await site.add("broken", "61 * * * *")
    await site.add("good")
    batch = await site.planned()
    assert len(batch.plans) == 2
    assert "61" in (await site.job("broken")).last_error
    assert slots_of(await site.claim("12:01:00")) == [("good", "12:01")]
    await site.edit("broken", cron_expression="* * * * *")
    await site.claim("12:01:30")
    assert (await site.job("broken")).last_error == ""


async def test_a_batch_has_its_limits(site: Site) -> None:
    for number in range(3):
        await site.add(f"job-{number}", misfire_policy="fire_all")
    await site.planned()
    few = await site.claim("12:05:00", limit=2)
    assert (few.claimed, len(few.plans), few.is_full) == (10, 2, True)
    rest = await site.claim("12:05:00", limit=2)
    assert (rest.claimed, len(rest.plans), rest.is_full) == (5, 1, False)
    # The second job fills the batch; the third is left as it is.
    many = await site.claim("12:10:00", max_runs=8)
    assert (many.claimed, len(many.plans), many.is_full) == (10, 2, True)
    assert (await site.claim("12:10:00", max_runs=8)).claimed == 5


async def test_refused_and_excluded_jobs_keep_their_cursor(site: Site) -> None:
    await site.add("held")
    await site.add("free")
    await site.planned()

    async def admit(slots: Any) -> Any:
        return {slot for slot in slots if slot.job_id == "free"}

    batch = await site.claim("12:01:00", gate=admit)
    assert slots_of(batch) == [("free", "12:01")]
    assert (len(batch.refused), len(batch.plans)) == (1, 1)
    assert (await site.claim("12:01:00", excluded=batch.refused)).runs == []
    assert slots_of(await site.claim("12:01:00")) == [("held", "12:01")]


async def test_skipped_slots_are_recorded_a_long_stretch_as_one_row(site: Site) -> None:
    await site.add()
    await site.planned()
    await site.claim("12:03:00")
    await site.claim("14:00:00")
    assert await site.outcomes() == {
        ("report", "12:01"): "skipped misfire",
        ("report", "12:02"): "skipped misfire",
        ("report", "12:03"): "claimed",
        ("report", "12:04"): "skipped misfire",
        ("report", "14:00"): "claimed",
    }


async def test_jitter_delays_the_delivery_and_not_the_claim(site: Site) -> None:
    await site.add("a", "1 12 * * *", jitter_seconds=300)
    await site.add("b", "1 12 * * *", jitter_seconds=300)
    await site.planned()
    batch = await site.claim("12:01:00")
    assert (batch.runs, batch.claimed) == ([], 2)
    waits = sorted(
        row.lease_until for row in (await site.rows()).values() if row.lease_until is not None
    )
    assert batch.next_delivery_at == waits[0] > at("12:01:00")
    order = replace(site.sweeping("12:01:00"), at=waits[0])
    sweep = await site.repository.sweep(order)
    assert ([run.attempts for run in sweep.runs], sweep.next_at) == ([1], waits[1])


@pytest.mark.parametrize("status, runs", [("claimed", 0), ("enqueued", 0), ("succeeded", 1)])
async def test_a_job_that_must_not_overlap_waits_for_its_run(
    site: Site, status: str, runs: int
) -> None:
    await site.add(overlap_policy="skip", max_run_seconds=120)
    await site.planned()
    await site.put_run(left_run("11:59:00", created_at=at("12:00:00")), status)
    assert len((await site.claim("12:01:00")).runs) == runs
    await site.put_run(left_run("11:58:00", created_at=at("11:00:00")), "running")
    assert len((await site.claim("12:04:00")).runs) == 1


async def test_a_run_of_a_slot_long_past_counts_while_it_is_unfinished(site: Site) -> None:
    site.rules = PlanningRules(catch_up_window=timedelta(days=7))
    await site.add(
        expression="0 * * * *",
        overlap_policy="skip",
        misfire_policy="fire_all",
        plan_from=at("2029-12-29T00:00Z"),
    )
    await site.planned()
    assert slots_of(await site.claim("12:00:40")) == [("report", "01:00")]
    assert (await site.claim("13:00:00")).runs == []
    assert (await site.outcomes())["report", "13:00"] == "skipped overlap"


async def test_a_run_by_hand_counts_for_overlap_too(site: Site) -> None:
    await site.add(overlap_policy="skip")
    await site.planned()
    by_hand = replace(left_run("12:00:00"), scheduled_for=None, kind="manual")
    await site.put_run(by_hand, "running")
    assert (await site.claim("12:01:00")).runs == []
