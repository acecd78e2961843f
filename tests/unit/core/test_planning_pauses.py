"""Planning around pauses of everything: what runs, what is skipped and why, where to look next."""

from __future__ import annotations

from datetime import datetime

import pytest

from django_dyncron.core.definitions import CronJobDefinition
from django_dyncron.core.pauses import PausedSpan, Stretch, stretches
from django_dyncron.core.planning import JobPlan, PlanningRules, plan_job, without_overlap


def at(text: str) -> datetime:
    """Return ``12:00`` of 30 November 2026, or any moment in full."""
    return datetime.fromisoformat(f"2026-11-30T{text}Z" if len(text) < 16 else text)


def paused(*spans: tuple[str, str | None]) -> list[PausedSpan]:
    return [PausedSpan(at(since), until and at(until)) for since, until in spans]


def plan(
    cursor: str,
    now: str,
    *pauses: tuple[str, str | None],
    expression: str = "*/10 * * * *",
    **values: object,
) -> JobPlan:
    job = CronJobDefinition("report", "shop.report", expression, **values)  # type: ignore[arg-type]
    found = plan_job(job, at(cursor), at(now), PlanningRules(), pauses=paused(*pauses))
    assert not found.error
    return found


def runs(of: JobPlan) -> list[str]:
    return [f"{run.scheduled_for:%H:%M}" for run in of.runs]


def skips(of: JobPlan) -> list[str]:
    return [
        f"{skip.first:%H:%M} {skip.reason}"
        if skip.count == 1
        else f"{skip.first:%H:%M}-{skip.last:%H:%M} {skip.count} {skip.reason}"
        for skip in of.skips
    ]


def cursor(of: JobPlan) -> str:
    assert of.next_run_at is not None
    return f"{of.next_run_at:%Y-%m-%dT%H:%MZ}"


# --- while it lasts -------------------------------------------------------------------------------


def test_a_slot_within_a_pause_is_skipped_and_the_cursor_goes_on() -> None:
    found = plan("12:10", "12:10", ("12:05", None))
    assert (runs(found), skips(found)) == ([], ["12:10 paused"])
    assert cursor(found) == "2026-11-30T12:20Z"
    assert not found.is_settled


@pytest.mark.parametrize("policy", ["fire_once", "fire_all", "skip"])
def test_no_policy_runs_anything_while_a_pause_lasts(policy: str) -> None:
    found = plan("12:10", "12:30", ("12:05", None), misfire_policy=policy)
    assert runs(found) == []
    assert skips(found) == ["12:10 paused", "12:20 paused", "12:30 paused"]


def test_what_nobody_got_to_before_the_pause_does_not_run_in_it() -> None:
    found = plan("12:10", "12:35", ("12:25", None), misfire_policy="fire_all")
    assert runs(found) == []
    assert skips(found) == ["12:10 paused", "12:20 paused", "12:30 paused"]


def test_a_new_job_is_planned_as_ever() -> None:
    job = CronJobDefinition("report", "shop.report", "*/10 * * * *")
    pauses = paused(("12:00", None))
    found = plan_job(job, None, at("12:05"), PlanningRules(), pauses=pauses)
    assert (found.skips, cursor(found)) == ((), "2026-11-30T12:10Z")


def test_a_job_that_ends_within_a_pause_is_settled() -> None:
    found = plan("12:10", "12:30", ("12:00", None), ends_at=at("12:20"))
    assert skips(found) == ["12:10 paused", "12:20 paused"]
    assert found.is_settled


# --- afterwards -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy, now, run, skipped",
    [
        ("fire_once", "13:01", ["13:00"], ["12:00 misfire", "12:10 misfire"]),
        ("fire_all", "13:01", ["12:00", "12:10", "12:50", "13:00"], []),
        ("skip", "13:01", ["13:00"], ["12:00 misfire", "12:10 misfire"]),
        ("skip", "13:05", [], ["12:00 misfire", "12:10 misfire"]),
    ],
)
def test_a_pause_inside_an_outage(
    policy: str, now: str, run: list[str], skipped: list[str]
) -> None:
    found = plan("12:00", now, ("12:15", "12:45"), misfire_policy=policy)
    after = ["12:50 misfire"] if policy != "fire_all" else []
    if not run:
        after += ["13:00 misfire"]
    assert runs(found) == run
    assert skips(found) == [
        *skipped,
        "12:20 paused",
        "12:30 paused",
        "12:40 paused",
        *after,
    ]
    assert cursor(found) == "2026-11-30T13:10Z"


@pytest.mark.parametrize("policy", ["fire_once", "fire_all", "skip"])
def test_a_pause_spanning_an_outage_leaves_nothing_to_make_up(policy: str) -> None:
    found = plan("12:00", "13:00", ("11:30", "13:00:00.5"), misfire_policy=policy)
    assert runs(found) == []
    assert len(found.skips) == 7
    assert {skip.reason for skip in found.skips} == {"paused"}


def test_only_slots_within_the_catch_up_window_are_made_up() -> None:
    found = plan(
        "11:00",
        "13:00",
        ("12:15", "12:35"),
        misfire_policy="fire_all",
        catch_up_window_seconds=3600,
    )
    assert runs(found) == ["12:00", "12:10", "12:40", "12:50", "13:00"]
    assert skips(found) == [
        *(f"11:{minute}0 misfire" for minute in range(6)),
        "12:20 paused",
        "12:30 paused",
    ]


def test_only_unpaused_slots_count_for_the_most_that_are_made_up() -> None:
    found = plan("12:00", "13:00", ("12:25", "12:45"), misfire_policy="fire_all", max_catch_up=3)
    assert runs(found) == ["12:20", "12:50", "13:00"]
    assert skips(found) == ["12:00 misfire", "12:10 misfire", "12:30 paused", "12:40 paused"]


def test_between_two_pauses_it_runs() -> None:
    found = plan("12:00", "13:00", ("11:55", "12:15"), ("12:25", "13:05"), expression="0 * * * *")
    assert skips(found) == ["12:00 paused", "13:00 paused"]
    two = (("12:05", "12:15"), ("12:25", "12:45"))
    found = plan("12:00", "12:45", *two, misfire_policy="fire_all")
    assert runs(found) == ["12:00", "12:20"]
    assert skips(found) == ["12:10 paused", "12:30 paused", "12:40 paused"]


# --- to the instant -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "since, until, run, skipped",
    [
        ("12:10:00", "12:15", ["12:20"], ["12:10 paused"]),
        ("12:10:00.000001", "12:15", ["12:10", "12:20"], []),
        ("12:15", "12:20:00", ["12:10", "12:20"], []),
        ("12:15", "12:20:00.000001", ["12:10"], ["12:20 paused"]),
        ("12:10:00", "12:10:00", ["12:10", "12:20"], []),
        ("12:15", "12:14", ["12:10", "12:20"], []),
    ],
)
def test_a_pause_begins_with_its_first_instant_and_is_over_at_its_last(
    since: str, until: str, run: list[str], skipped: list[str]
) -> None:
    found = plan("12:10", "12:25", (since, until), misfire_policy="fire_all")
    assert (runs(found), skips(found)) == (run, skipped)


def test_pauses_of_the_past_and_the_future_change_nothing() -> None:
    found = plan("12:10", "12:25", ("11:00", "12:10"), ("12:26", None), misfire_policy="fire_all")
    assert (runs(found), skips(found)) == (["12:10", "12:20"], [])


def test_a_pause_over_a_clock_change() -> None:
    # In Berlin clocks go back at 01:00 UTC: 02:30 comes twice, at 00:30 and 01:30 UTC.
    for fold, reasons in (("first", ["paused"]), ("both", ["paused", "misfire"])):
        found = plan(
            "2026-10-25T00:30Z",
            "2026-10-25T09:00Z",
            ("2026-10-25T00:00Z", "2026-10-25T01:00Z"),
            expression="30 2 * * *",
            time_zone="Europe/Berlin",
            dst_fold=fold,
            misfire_policy="skip",
        )
        assert runs(found) == []
        assert [skip.reason for skip in found.skips] == reasons
        assert cursor(found) == "2026-10-26T01:30Z"


def test_a_slot_made_up_right_after_a_gap_is_run_if_the_pause_is_over_by_then() -> None:
    # Clocks go forward at 01:00 UTC, from 02:00 to 03:00: 02:30 runs at 03:00.
    for until, run in (("2026-03-29T01:00Z", ["01:00"]), ("2026-03-29T01:00:01Z", [])):
        found = plan(
            "2026-03-29T01:00Z",
            "2026-03-29T01:00:30Z",
            ("2026-03-28T12:00Z", until),
            expression="30 2 * * *",
            time_zone="Europe/Berlin",
        )
        assert runs(found) == run


# --- long stretches -------------------------------------------------------------------------------


def test_a_long_pause_is_one_row() -> None:
    found = plan("08:00", "12:00", ("07:00", "11:59"), expression="* * * * *")
    assert runs(found) == ["12:00"]
    assert skips(found) == ["08:00-11:58 239 paused", "11:59 misfire"]


def test_all_stretches_of_a_pass_share_the_hundred_rows() -> None:
    found = plan("10:00", "12:30", ("11:20", "12:20"), expression="* * * * *")
    assert runs(found) == ["12:30"]
    assert skips(found)[:80] == [f"{10 + m // 60}:{m % 60:02} misfire" for m in range(80)]
    assert skips(found)[80:] == [
        "11:20-12:19 60 paused",
        *(f"12:{minute} misfire" for minute in range(20, 30)),
    ]


def test_a_pass_that_is_cut_leaves_later_skips_to_the_next() -> None:
    pauses = (("11:00", "11:30"), ("11:50", "11:55"))
    values = {"expression": "* * * * *", "misfire_policy": "fire_all", "max_catch_up": 1000}
    first = plan("10:00", "13:00", *pauses, **values)
    assert (len(first.runs), runs(first)[0], runs(first)[-1]) == (100, "10:00", "12:14")
    assert [skip.reason for skip in first.skips] == ["paused"] * 35
    early = plan("10:00", "12:00", ("11:45", "11:50"), **values)
    assert (len(early.runs), runs(early)[-1], early.skips) == (100, "11:39", ())
    assert cursor(early) == "2026-11-30T11:40Z"
    rest = plan("11:40", "12:00", ("11:45", "11:50"), **values)
    assert runs(rest) == [
        *(f"11:{minute}" for minute in range(40, 45)),
        *(f"11:{minute}" for minute in range(50, 60)),
        "12:00",
    ]
    assert skips(rest) == [f"11:{minute} paused" for minute in range(45, 50)]


def test_a_pass_cut_right_before_a_pause_goes_on_within_it() -> None:
    values = {"expression": "* * * * *", "misfire_policy": "fire_all", "max_catch_up": 1000}
    first = plan("10:00", "12:00", ("11:40", "11:50"), **values)
    assert (runs(first)[-1], first.skips, cursor(first)) == ("11:39", (), "2026-11-30T11:40Z")
    rest = plan("11:40", "12:00", ("11:40", "11:50"), **values)
    assert (runs(rest)[0], len(rest.runs), len(rest.skips)) == ("11:50", 11, 10)


def test_of_slots_around_a_pause_that_must_not_overlap_the_oldest_runs() -> None:
    found = plan(
        "12:00",
        "12:40",
        ("12:15", "12:25"),
        misfire_policy="fire_all",
        overlap_policy="skip",
    )
    alone = without_overlap(found, is_running=False)
    assert runs(alone) == ["12:00"]
    assert skips(alone) == ["12:20 paused", "12:10 overlap", "12:30 overlap", "12:40 overlap"]


# --- cutting --------------------------------------------------------------------------------------


def test_pauses_that_overlap_are_one() -> None:
    pauses = paused(("12:00", "12:30"), ("12:10", "12:20"), ("12:25", "12:40"))
    found = stretches(at("11:00"), at("13:00"), at("13:00"), pauses)
    assert [(f"{part.after:%H:%M}", part.is_paused) for part in found] == [
        ("11:00", False),
        ("11:59", True),
        ("12:29", True),
        ("12:39", False),
    ]


def test_a_pause_that_lasts_now_covers_everything() -> None:
    found = stretches(at("11:00"), at("12:00"), at("12:30"), paused(("12:15", None)))
    assert found == [Stretch(at("11:00"), at("12:00"), is_paused=True)]
