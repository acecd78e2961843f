"""The whole scheduler across clock changes: the same slots, however often it looks."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from django_dyncron.core.definitions import CronJobDefinition
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer

_DATA = Path(__file__).resolve().parents[2] / "data" / "dst.json"
CASES: list[dict[str, Any]] = json.loads(_DATA.read_text())["cases"]
POLICIES = {
    "default": {"dst_gap": "run_after", "dst_fold": "first"},
    "skip_both": {"dst_gap": "skip", "dst_fold": "both"},
    "skip_first": {"dst_gap": "skip", "dst_fold": "first"},
}
_LOOK_CLOSELY = timedelta(seconds=70)


class World:
    def __init__(self, case: dict[str, Any], policy: str, **values: Any) -> None:
        self.clock = FakeClock(case["after"])
        self.until = datetime.fromisoformat(case["until"])
        self.queue = RecordingEnqueuer()
        repository = InMemoryRepository(clock=self.clock.now)
        repository.add(
            CronJobDefinition(
                case["id"],
                "shop.tasks.report",
                case["cron_expression"],
                time_zone=case["time_zone"],
                **POLICIES[policy],
                **values,
            )
        )
        self.scheduler = DynamicScheduler(repository, self.queue, clock=self.clock)

    async def go(self, seconds: float) -> None:
        left = (self.until - self.clock.now()).total_seconds()
        self.clock.advance(min(seconds, left))
        await self.scheduler.tick()

    @property
    def slots(self) -> list[str]:
        return [slot for _, slot in self.queue.slots]


def ids(case: dict[str, Any]) -> str:
    return str(case["id"])


@pytest.mark.parametrize("seconds", [30, 59, 61, 600])
@pytest.mark.parametrize("case", CASES, ids=ids)
async def test_the_slots_do_not_depend_on_how_often_it_looks(
    case: dict[str, Any], seconds: float
) -> None:
    for policy in POLICIES if seconds > 60 else ["default"]:
        world = World(case, policy, misfire_policy="fire_all")
        await world.scheduler.tick()
        while world.clock.now() < world.until:
            await world.go(seconds)
        assert world.slots == case[policy], policy


@pytest.mark.parametrize("case", CASES, ids=ids)
async def test_looking_every_second_around_each_slot(case: dict[str, Any]) -> None:
    for policy in POLICIES:
        slots = [datetime.fromisoformat(slot) for name in POLICIES for slot in case[name]]
        world = World(case, policy)
        await world.scheduler.tick()
        while (now := world.clock.now()) < world.until:
            is_close = any(abs(now - slot) < _LOOK_CLOSELY for slot in slots)
            await world.go(1 if is_close else 60)
        assert world.slots == case[policy], policy


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=ids)
async def test_looking_every_second_all_the_time(case: dict[str, Any]) -> None:
    world = World(case, "default")
    await world.scheduler.tick()
    while world.clock.now() < world.until:
        await world.go(1)
    assert world.slots == case["default"]


@pytest.mark.parametrize("case", CASES, ids=ids)
async def test_down_across_the_change(case: dict[str, Any]) -> None:
    """A scheduler that was away from start to end makes up what its policy says, no more."""
    day = 86_400
    for policy in POLICIES:
        expected = case[policy]
        wanted = {
            "fire_all": expected[-100:],
            "fire_once": expected[-1:],
            "skip": [slot for slot in expected[-1:] if _is_on_time(slot, case["until"])],
        }
        for misfire_policy, slots in wanted.items():
            world = World(
                case,
                policy,
                misfire_policy=misfire_policy,
                max_catch_up=100,
                catch_up_window_seconds=30 * day,
            )
            await world.scheduler.tick()
            world.clock.advance((world.until - world.clock.now()).total_seconds())
            await world.scheduler.tick()  # a leap this long is confirmed by a second look
            await world.scheduler.tick()
            assert world.slots == slots, (policy, misfire_policy)


def _is_on_time(slot: str, until: str) -> bool:
    return datetime.fromisoformat(until) - datetime.fromisoformat(slot) <= timedelta(minutes=1)
