"""What every durable repository promises about pauses of everything, and about runs by hand."""

from __future__ import annotations

from typing import Any

import pytest

from django_dyncron.core.pauses import PausedSpan
from tests.contracts.repositories.sites import Site, at, left_run, run_by_hand, slots_of


async def pauses_at(site: Site, moment: str) -> list[PausedSpan]:
    return list(await site.repository.pauses(at(moment)))


async def test_there_are_no_pauses_at_first(site: Site) -> None:
    assert await pauses_at(site, "12:00:00") == []


async def test_pauses_are_told_oldest_first(site: Site) -> None:
    await site.add()
    await site.planned()
    await site.pause("12:10:00")
    await site.pause("12:01:30", "12:02:00")
    assert await pauses_at(site, "12:11:00") == [
        PausedSpan(at("12:01:30"), at("12:02:00")),
        PausedSpan(at("12:10:00")),
    ]


async def test_pauses_that_ended_before_any_cursor_are_not_read(site: Site) -> None:
    await site.add("hourly", "0 * * * *")
    await site.add("minutely")
    await site.planned()
    await site.add("new", plan_from=at("12:01:00"))
    for minute in range(3):
        await site.pause(f"11:5{minute}:00", f"11:5{minute}:30")
    await site.pause("12:00:10", "12:01:00")
    assert await pauses_at(site, "12:01:00") == []
    await site.pause("12:00:20", "12:01:01")
    assert await pauses_at(site, "12:01:02") == [PausedSpan(at("12:00:20"), at("12:01:01"))]
    await site.claim("12:01:02")
    assert await pauses_at(site, "12:01:03") == []
    await site.pause("12:05:00")
    assert await pauses_at(site, "12:04:59") == []


async def test_pauses_since_which_a_row_waits_to_be_planned_are_read(site: Site) -> None:
    await site.add("minutely")
    await site.planned()
    await site.add("new", "*/10 * * * *", plan_from=at("11:00:00"), misfire_policy="fire_all")
    await site.pause("11:15:00", "11:45:00")
    pauses = await pauses_at(site, "12:00:40")
    assert pauses == [PausedSpan(at("11:15:00"), at("11:45:00"))]
    assert (await site.claim("12:00:40", pauses=pauses)).runs == []
    batch = await site.claim("12:00:40", pauses=pauses)
    assert slots_of(batch) == [("new", "11:10"), ("new", "11:50"), ("new", "12:00")]


async def test_slots_within_a_pause_are_recorded_and_the_cursor_moves_on(site: Site) -> None:
    await site.add()
    await site.planned()
    await site.pause("12:00:40")
    batch = await site.claim_around_pauses("12:02:00")
    assert (batch.runs, batch.claimed) == ([], 0)
    assert await site.outcomes() == {
        ("report", "12:01"): "skipped paused",
        ("report", "12:02"): "skipped paused",
    }
    assert (await site.job()).next_run_at == at("12:03:00")
    assert (await site.claim_around_pauses("12:02:00")).plans == []


async def test_a_long_pause_is_recorded_as_one_row(site: Site) -> None:
    await site.add()
    await site.planned()
    await site.pause("12:00:40", "15:00:00")
    (run,) = (await site.claim_around_pauses("15:00:00")).runs
    assert run.scheduled_for == at("15:00:00")
    assert await site.outcomes() == {
        ("report", "12:01"): "skipped paused",
        ("report", "15:00"): "claimed",
    }


@pytest.mark.parametrize(
    "values",
    [{}, {"delivery": "at_most_once"}, {"enqueuer": "here", "delivery": "at_most_once"}],
)
async def test_a_run_by_hand_is_swept_up_whatever_is_paused(
    site: Site, values: dict[str, Any]
) -> None:
    await site.add(is_active=False)
    await site.pause("11:00:00")
    run = run_by_hand(**values)
    await site.put_run(run, "claimed", replica="")
    order = site.sweeping("12:00:00", starting_once={"here"})
    (taken,) = (await site.repository.sweep(order)).runs
    assert (taken.run_id, taken.kind, taken.scheduled_for) == (run.run_id, "manual", None)
    assert (taken.attempts, taken.lease_until) == (1, at("12:01:00"))
    assert await site.repository.start_run(taken, "b", at("12:00:01"), order.lease)
    assert await site.last_run_at() is None


async def test_a_newer_slot_does_not_replace_a_run_by_hand(site: Site) -> None:
    await site.add()
    await site.put_run(left_run("12:00:00", lease_until=None), "enqueued")
    by_hand = run_by_hand()
    await site.put_run(by_hand, "claimed", replica="")
    assert len((await site.repository.sweep(site.sweeping("12:00:10"))).runs) == 1


async def test_a_run_by_hand_of_a_deleted_job_is_not_delivered(site: Site) -> None:
    by_hand = run_by_hand("gone")
    await site.put_run(by_hand, "claimed", replica="")
    assert (await site.repository.sweep(site.sweeping("12:00:10"))).runs == []
    assert await site.outcomes() == {("gone", "by hand"): "skipped deleted"}


async def test_a_run_by_hand_keeps_a_slot_from_overlapping(site: Site) -> None:
    await site.add(overlap_policy="skip")
    await site.planned()
    by_hand = run_by_hand(created_at=at("12:00:50"))
    await site.put_run(by_hand, "claimed", replica="")
    assert (await site.claim("12:01:00")).runs == []
    assert (await site.outcomes())["report", "12:01"] == "skipped overlap"
