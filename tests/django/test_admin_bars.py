"""The bars of the latest runs: what they look like, and what they say."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from django_dyncron.admin.bars import bars
from django_dyncron.admin.marks import NOTHING, reason_words
from django_dyncron.admin.runs import outcome_of
from django_dyncron.core.policies import SkipReason
from django_dyncron.models import CronRun
from tests.django.admin_pages import at


def a_run(slot: str | None, status: str, **values: object) -> CronRun:
    moment = at(slot) if slot else None
    return CronRun(id=uuid4(), scheduled_for=moment, status=status, **values)


def titles(*runs: CronRun) -> list[str]:
    return re.findall(r"<title>(.*?)</title>", bars(runs))


def test_each_bar_says_slot_outcome_and_duration() -> None:
    timed = {"started_at": at("2026-11-30T09:00Z"), "finished_at": at("2026-11-30T09:02Z")}
    assert titles(
        a_run("2026-11-30T09:00Z", "succeeded", **timed),
        a_run("2026-11-30T10:00Z", "failed", error="OSError"),
        a_run("2026-11-30T11:00Z", "skipped", reason="overlap"),
        a_run("2026-11-30T12:00Z", "skipped", skipped_until=at("2026-11-30T14:00Z")),
        a_run(None, "running", kind="manual", created_at=at("2026-11-30T15:07Z")),
    ) == [
        "2026-11-30 09:00 UTC: succeeded, 2 min 0 s",
        "2026-11-30 10:00 UTC: failed",
        "2026-11-30 11:00 UTC: skipped (overlapping)",
        "2026-11-30 12:00 UTC – 2026-11-30 14:00 UTC: skipped",
        "2026-11-30 15:07 UTC by hand: running",
    ]


def test_the_whole_is_an_image_that_sums_up() -> None:
    runs = [a_run("2026-11-30T09:00Z", "succeeded")] * 27
    runs += [a_run("2026-11-30T09:00Z", "skipped")]
    runs += [a_run("2026-11-30T09:00Z", "failed")] * 2

    image = bars(runs)

    summary = "Last 30 runs: 27 succeeded, 2 failed, 1 skipped"
    assert f'role="img" aria-label="{summary}"' in image
    assert 'aria-label="Last 1 run: 1 enqueued"' in bars([a_run("2026-11-30T09:00Z", "enqueued")])
    assert "style=" not in image


def test_the_newest_bar_is_always_at_the_right() -> None:
    assert 'd="M116 ' in bars([a_run("2026-11-30T09:00Z", "succeeded")])
    full = bars([a_run("2026-11-30T09:00Z", "succeeded")] * 30)
    assert 'd="M0 ' in full
    assert 'd="M116 ' in full


@pytest.mark.parametrize("others", [("failed", "lost", "unknown"), ("running", "claimed")])
def test_outcomes_differ_by_shape_not_by_colour_alone(others: tuple[str, ...]) -> None:
    def shape(status: str) -> str:
        (found,) = re.findall(r' d="(.*?)"', bars([a_run("2026-11-30T09:00Z", status)]))
        return str(found)

    assert shape("succeeded") == shape("enqueued")
    assert len({shape(status) for status in others}) == 1
    shapes = {shape(status) for status in ("succeeded", "skipped", "failed", "running")}
    assert len(shapes) == 4


def test_where_there_was_no_run_there_is_no_image() -> None:
    assert bars([]) == NOTHING


@pytest.mark.parametrize(
    "reason, words",
    [
        (SkipReason.MISFIRE, "missed"),
        (SkipReason.OVERLAP, "overlapping"),
        (SkipReason.PAUSED, "paused"),
        (SkipReason.SUPERSEDED, "a newer slot was run"),
        (SkipReason.DELETED, "job deleted"),
        ("of a later release", "of a later release"),
    ],
)
def test_why_a_slot_was_skipped_is_said_in_words(reason: str, words: str) -> None:
    run = a_run("2026-11-30T09:00Z", "skipped", reason=reason)

    assert titles(run) == [f"2026-11-30 09:00 UTC: skipped ({words})"]
    assert f"skipped ({words})" in outcome_of(run)


def test_every_reason_has_words() -> None:
    assert [reason for reason in SkipReason if reason_words(reason) == reason] == ["paused"]
