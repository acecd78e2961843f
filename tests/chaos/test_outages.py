"""Nobody ran for a while: the exact slots that are made up, for every policy, cadence and length.

Every job existed at noon and a half minute, and all replicas were away from then on.
"""

from __future__ import annotations

import pytest

from django_dyncron.core.policies import RunStatus
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer
from django_dyncron.testing.rows import StoredRun
from tests.chaos.jobs import job
from tests.chaos.scoreboard import Score
from tests.chaos.verdict import Verdict

DOWN_AT = "2026-11-29T11:59:40Z"
CADENCES = {"minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 12 * * *"}
SECONDS = {"30 s": 30, "10 min": 600, "24 h": 86_400}

FIRST_NOON = "2026-11-29T12:00Z"

# (outage, cadence, policy): the slots that run, the stretches that are skipped, and the next slot.
# Policies agree on what was missed; "fire_all" is limited to the newest three.
EXPECTED = {
    ("30 s", "minutely", "fire_once"): ([FIRST_NOON], [], "2026-11-29T12:01Z"),
    ("30 s", "minutely", "fire_all"): ([FIRST_NOON], [], "2026-11-29T12:01Z"),
    ("30 s", "minutely", "skip"): ([FIRST_NOON], [], "2026-11-29T12:01Z"),
    ("30 s", "hourly", "fire_once"): ([FIRST_NOON], [], "2026-11-29T13:00Z"),
    ("30 s", "hourly", "fire_all"): ([FIRST_NOON], [], "2026-11-29T13:00Z"),
    ("30 s", "hourly", "skip"): ([FIRST_NOON], [], "2026-11-29T13:00Z"),
    ("30 s", "daily", "fire_once"): ([FIRST_NOON], [], "2026-11-30T12:00Z"),
    ("30 s", "daily", "fire_all"): ([FIRST_NOON], [], "2026-11-30T12:00Z"),
    ("30 s", "daily", "skip"): ([FIRST_NOON], [], "2026-11-30T12:00Z"),
    ("10 min", "minutely", "fire_once"): (
        ["2026-11-29T12:09Z"],
        [
            "2026-11-29T12:00Z",
            "2026-11-29T12:01Z",
            "2026-11-29T12:02Z",
            "2026-11-29T12:03Z",
            "2026-11-29T12:04Z",
            "2026-11-29T12:05Z",
            "2026-11-29T12:06Z",
            "2026-11-29T12:07Z",
            "2026-11-29T12:08Z",
        ],
        "2026-11-29T12:10Z",
    ),
    ("10 min", "minutely", "fire_all"): (
        ["2026-11-29T12:07Z", "2026-11-29T12:08Z", "2026-11-29T12:09Z"],
        [
            "2026-11-29T12:00Z",
            "2026-11-29T12:01Z",
            "2026-11-29T12:02Z",
            "2026-11-29T12:03Z",
            "2026-11-29T12:04Z",
            "2026-11-29T12:05Z",
            "2026-11-29T12:06Z",
        ],
        "2026-11-29T12:10Z",
    ),
    ("10 min", "minutely", "skip"): (
        ["2026-11-29T12:09Z"],
        [
            "2026-11-29T12:00Z",
            "2026-11-29T12:01Z",
            "2026-11-29T12:02Z",
            "2026-11-29T12:03Z",
            "2026-11-29T12:04Z",
            "2026-11-29T12:05Z",
            "2026-11-29T12:06Z",
            "2026-11-29T12:07Z",
            "2026-11-29T12:08Z",
        ],
        "2026-11-29T12:10Z",
    ),
    ("10 min", "hourly", "fire_once"): ([FIRST_NOON], [], "2026-11-29T13:00Z"),
    ("10 min", "hourly", "fire_all"): ([FIRST_NOON], [], "2026-11-29T13:00Z"),
    ("10 min", "hourly", "skip"): ([], [FIRST_NOON], "2026-11-29T13:00Z"),
    ("10 min", "daily", "fire_once"): ([FIRST_NOON], [], "2026-11-30T12:00Z"),
    ("10 min", "daily", "fire_all"): ([FIRST_NOON], [], "2026-11-30T12:00Z"),
    ("10 min", "daily", "skip"): ([], [FIRST_NOON], "2026-11-30T12:00Z"),
    ("24 h", "minutely", "fire_once"): (
        ["2026-11-30T11:59Z"],
        ["1439 from 2026-11-29T12:00Z to 2026-11-30T11:58Z"],
        "2026-11-30T12:00Z",
    ),
    ("24 h", "minutely", "fire_all"): (
        ["2026-11-30T11:57Z", "2026-11-30T11:58Z", "2026-11-30T11:59Z"],
        ["1437 from 2026-11-29T12:00Z to 2026-11-30T11:56Z"],
        "2026-11-30T12:00Z",
    ),
    ("24 h", "minutely", "skip"): (
        ["2026-11-30T11:59Z"],
        ["1439 from 2026-11-29T12:00Z to 2026-11-30T11:58Z"],
        "2026-11-30T12:00Z",
    ),
    ("24 h", "hourly", "fire_once"): (
        ["2026-11-30T11:00Z"],
        [
            "2026-11-29T12:00Z",
            "2026-11-29T13:00Z",
            "2026-11-29T14:00Z",
            "2026-11-29T15:00Z",
            "2026-11-29T16:00Z",
            "2026-11-29T17:00Z",
            "2026-11-29T18:00Z",
            "2026-11-29T19:00Z",
            "2026-11-29T20:00Z",
            "2026-11-29T21:00Z",
            "2026-11-29T22:00Z",
            "2026-11-29T23:00Z",
            "2026-11-30T00:00Z",
            "2026-11-30T01:00Z",
            "2026-11-30T02:00Z",
            "2026-11-30T03:00Z",
            "2026-11-30T04:00Z",
            "2026-11-30T05:00Z",
            "2026-11-30T06:00Z",
            "2026-11-30T07:00Z",
            "2026-11-30T08:00Z",
            "2026-11-30T09:00Z",
            "2026-11-30T10:00Z",
        ],
        "2026-11-30T12:00Z",
    ),
    ("24 h", "hourly", "fire_all"): (
        ["2026-11-30T09:00Z", "2026-11-30T10:00Z", "2026-11-30T11:00Z"],
        [
            "2026-11-29T12:00Z",
            "2026-11-29T13:00Z",
            "2026-11-29T14:00Z",
            "2026-11-29T15:00Z",
            "2026-11-29T16:00Z",
            "2026-11-29T17:00Z",
            "2026-11-29T18:00Z",
            "2026-11-29T19:00Z",
            "2026-11-29T20:00Z",
            "2026-11-29T21:00Z",
            "2026-11-29T22:00Z",
            "2026-11-29T23:00Z",
            "2026-11-30T00:00Z",
            "2026-11-30T01:00Z",
            "2026-11-30T02:00Z",
            "2026-11-30T03:00Z",
            "2026-11-30T04:00Z",
            "2026-11-30T05:00Z",
            "2026-11-30T06:00Z",
            "2026-11-30T07:00Z",
            "2026-11-30T08:00Z",
        ],
        "2026-11-30T12:00Z",
    ),
    ("24 h", "hourly", "skip"): (
        [],
        [
            "2026-11-29T12:00Z",
            "2026-11-29T13:00Z",
            "2026-11-29T14:00Z",
            "2026-11-29T15:00Z",
            "2026-11-29T16:00Z",
            "2026-11-29T17:00Z",
            "2026-11-29T18:00Z",
            "2026-11-29T19:00Z",
            "2026-11-29T20:00Z",
            "2026-11-29T21:00Z",
            "2026-11-29T22:00Z",
            "2026-11-29T23:00Z",
            "2026-11-30T00:00Z",
            "2026-11-30T01:00Z",
            "2026-11-30T02:00Z",
            "2026-11-30T03:00Z",
            "2026-11-30T04:00Z",
            "2026-11-30T05:00Z",
            "2026-11-30T06:00Z",
            "2026-11-30T07:00Z",
            "2026-11-30T08:00Z",
            "2026-11-30T09:00Z",
            "2026-11-30T10:00Z",
            "2026-11-30T11:00Z",
        ],
        "2026-11-30T12:00Z",
    ),
    # The noon of the first day is older than the catch-up window only in a longer outage.
    ("24 h", "daily", "fire_once"): ([FIRST_NOON], [], "2026-11-30T12:00Z"),
    ("24 h", "daily", "fire_all"): ([FIRST_NOON], [], "2026-11-30T12:00Z"),
    ("24 h", "daily", "skip"): ([], [FIRST_NOON], "2026-11-30T12:00Z"),
}


@pytest.mark.parametrize("outage, cadence, policy", EXPECTED)
async def test_after_an_outage(score: Score, outage: str, cadence: str, policy: str) -> None:
    clock = FakeClock(DOWN_AT)
    store = InMemoryRepository(clock=clock.now)
    store.add(job("report", CADENCES[cadence], misfire_policy=policy, max_catch_up=3))
    queue = RecordingEnqueuer()
    await DynamicScheduler(store, queue, clock=clock).tick()
    clock.advance(SECONDS[outage])
    replicas = [DynamicScheduler(store, queue, clock=clock) for _ in range(2)]
    for replica in replicas:
        await replica.tick()
    runs, skipped, upcoming = EXPECTED[outage, cadence, policy]
    assert [slot for _, slot in queue.slots] == runs
    assert [
        stretch(one) for one in store.runs.values() if one.status == RunStatus.SKIPPED
    ] == skipped
    assert f"{store.row('report').next_run_at:%Y-%m-%dT%H:%MZ}" == upcoming
    score.add(Verdict(slots=len(runs) + len(skipped), delivered=len(runs), recorded=len(skipped)))


def stretch(skipped: StoredRun) -> str:
    first = f"{skipped.run.scheduled_for:%Y-%m-%dT%H:%MZ}"
    if skipped.count == 1:
        return first
    return f"{skipped.count} from {first} to {skipped.until:%Y-%m-%dT%H:%MZ}"
