"""What every durable repository promises about sweeping, reviewing and pruning."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from django_dyncron.repositories import reviewing
from tests.contracts.repositories.sites import Site, at, left_run


async def test_what_becomes_of_runs_whose_lease_ended(site: Site) -> None:
    for job_id in ("lost", "once", "newer", "again", "starts-once"):
        await site.add(job_id)
    once = {"delivery": "at_most_once"}
    await site.put_run(left_run("11:59:00", "lost"), "running")
    await site.put_run(left_run("11:59:00", "once", **once), "claimed")
    await site.put_run(left_run("11:59:00", "newer"), "claimed")
    await site.put_run(left_run("12:00:00", "newer", lease_until=None), "enqueued")
    await site.put_run(left_run("11:59:00", "gone"), "claimed")
    await site.put_run(left_run("11:59:00", "again"), "claimed")
    await site.put_run(left_run("11:59:00", "starts-once", enqueuer="here", **once), "claimed")
    await site.put_run(left_run("11:59:00", "held", lease_until=at("12:00:20")), "running")
    order = site.sweeping("12:00:10", starting_once={"here"})
    sweep = await site.repository.sweep(order)
    assert sorted(run.job_id for run in sweep.runs) == ["again", "starts-once"]
    assert len(sweep.records) == 4
    assert sweep.next_at == at("12:00:20")
    assert await site.outcomes() == {
        ("again", "11:59"): "claimed",
        ("gone", "11:59"): "skipped deleted",
        ("held", "11:59"): "running",
        ("lost", "11:59"): "lost",
        ("newer", "11:59"): "skipped superseded",
        ("newer", "12:00"): "enqueued",
        ("once", "11:59"): "unknown",
        ("starts-once", "11:59"): "claimed",
    }
    again = await site.row("11:59", "again")
    assert (again.replica, again.attempts, again.lease_until) == ("b", 2, at("12:01:10"))


@pytest.mark.parametrize(
    "limit, moment, taken, next_at",
    [
        (5, "11:59:59", 0, "12:00:00"),
        (2, "12:00:30", 2, "12:00:30"),
        (5, "12:00:30", 3, "12:00:45"),
        (9, "12:00:45", 4, "12:01:45"),
    ],
)
async def test_a_sweep_says_when_the_next_lease_ends(
    site: Site, limit: int, moment: str, taken: int, next_at: str
) -> None:
    for number, until in enumerate(("12:00:00", "12:00:00", "12:00:15", "12:00:45")):
        await site.add(f"job-{number}")
        await site.put_run(left_run("11:59:00", f"job-{number}", lease_until=at(until)), "claimed")
    sweep = await site.repository.sweep(site.sweeping(moment, limit=limit))
    assert (len(sweep.runs), sweep.next_at) == (taken, at(next_at))


async def test_a_sweep_of_nothing_expects_nothing(site: Site) -> None:
    assert (await site.repository.sweep(site.sweeping("12:00:00"))).next_at is None


@pytest.mark.parametrize(
    "values, zone, moment, marked",
    [
        ({}, "UTC", "12:00:40", 0),
        ({}, "Europe/Paris", "12:00:40", 1),
        ({"time_zone": "Asia/Tokyo"}, "Europe/Paris", "12:00:40", 0),
        ({"expression": "61 * * * *"}, "UTC", "12:00:40", 1),
        ({"expression": "0 0 29 2 *"}, "UTC", "12:00:40", 1),
        ({"expression": "0 0 29 2 *"}, "UTC", "2031-12-01T00:00Z", 0),
        ({"is_active": False}, "Europe/Paris", "12:00:40", 0),
    ],
)
async def test_what_a_starting_scheduler_plans_anew(
    site: Site, values: dict[str, Any], zone: str, moment: str, marked: int
) -> None:
    await site.add(**values)
    await site.planned()
    assert await site.repository.review(zone, at(moment)) == marked
    assert await site.repository.review(zone, at(moment)) == 0
    assert (await site.repository.look_ahead(at("12:00:40"))).needs_planning is bool(marked)


async def test_many_jobs_are_marked_a_few_at_a_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviewing, "_AT_ONCE", 2)
    for number in range(5):
        await site.add(f"job-{number}")
    await site.planned()
    assert await site.repository.review("Europe/Paris", at("12:00:40")) == 5
    await site.planned()
    assert await site.repository.replan_after(at("12:00:00")) == 5


async def test_cursors_in_what_is_the_future_again_are_planned_anew(site: Site) -> None:
    await site.add("near")
    await site.add("far", "0 0 * * *")
    await site.add("new", "0 0 * * *", plan_from=at("12:00:00"))
    await site.planned()
    assert await site.repository.replan_after(at("12:01:00")) == 2
    await site.claim("11:00:00")
    assert (await site.job("far")).next_run_at == at("2030-01-02T00:00Z")
    assert await site.repository.replan_after(at("2029-12-31T00:00Z")) == 3
    await site.claim("2029-12-31T00:00Z")
    assert (await site.job("far")).next_run_at == at("2030-01-01T00:00Z")


async def test_old_runs_are_pruned_oldest_first_but_not_those_in_hand(site: Site) -> None:
    for number, status in enumerate(
        ("skipped", "enqueued", "failed", "claimed", "running", "succeeded")
    ):
        created_at = at("10:00:00") - timedelta(minutes=number)
        run = left_run(f"09:0{number}:00", status, created_at=created_at)
        await site.put_run(run, status)
    assert await site.repository.prune(at("10:00:00"), 1) == 1
    assert ("succeeded", "09:05") not in await site.rows()
    assert await site.repository.prune(at("10:00:00"), 100) == 2
    left = [job_id for job_id, _ in sorted(await site.rows())]
    assert left == ["claimed", "running", "skipped"]


async def test_active_jobs_are_listed(site: Site) -> None:
    await site.add("active", payload={"a": 1})
    await site.add("paused", is_active=False)
    (job,) = await site.repository.get_active_jobs()
    assert (job.job_id, job.payload, job.last_run_at) == ("active", {"a": 1}, None)


async def test_the_store_tells_its_own_time(site: Site) -> None:
    horizon = await site.repository.look_ahead(None)
    assert abs(horizon.now - datetime.now(horizon.now.tzinfo)) < timedelta(seconds=5)
