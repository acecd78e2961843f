"""Edits by every path while replicas run: the past is never fired, the old schedule never again."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django_dyncron.core.planning import PlanningRules, plan_job
from tests.chaos.jobs import QUEUES, job
from tests.chaos.scoreboard import Score, seeds, sizes
from tests.chaos.simulator import START, Simulation
from tests.chaos.verdict import MINUTE, Verdict, every

NOTICED_IN = timedelta(seconds=1.5)
"""A slot this near to an edit may fall to either schedule, or to none: a tick takes a second."""
STEPS_OF_AN_HOUR = (1, 2, 3, 5, 7, 10)


@dataclass(frozen=True)
class Size:
    jobs: int
    minutes: int
    seeds: int


@dataclass
class Edit:
    """From ``at`` on a job runs every ``step`` minutes of the hour; never while ``step`` is 0."""

    at: datetime
    step: int
    is_noted: bool


@dataclass
class Editor:
    """Changes some job every few seconds, as a form does or as plain SQL does."""

    pause: tuple[float, float]
    edits: dict[str, list[Edit]] = field(default_factory=lambda: defaultdict(list))

    async def __call__(self, simulation: Simulation) -> None:
        rows = list(simulation.store.rows.values())
        for row in rows:
            self.edits[row.job.job_id].append(Edit(START, 1, is_noted=True))
        while simulation.elapsed < simulation.minutes * 60 - 90:
            await asyncio.sleep(simulation.random.uniform(*self.pause))
            self._edit(simulation, simulation.random.choice(rows).job.job_id)

    def _edit(self, simulation: Simulation, job_id: str) -> None:
        step = simulation.random.choice([0, *STEPS_OF_AN_HOUR])
        is_noted = simulation.random.random() < 0.5
        before = self.edits[job_id][-1]
        if step == before.step:
            return
        expression = f"*/{step}" if step > 1 else "*"
        changes = {"cron_expression": f"{expression} * * * *"} if step else {}
        simulation.store.edit(job_id, is_noted=is_noted, is_active=step > 0, **changes)
        self.edits[job_id].append(Edit(simulation.clock(), step, is_noted))


def judge_edits(simulation: Simulation, editor: Editor) -> Verdict:
    """Count each slot that its job had when the slot came, and find those that it had not."""
    verdict = Verdict()
    delivered = defaultdict(list)
    for one in simulation.mailbox.deliveries:
        delivered[one.job_id].append(one.slot)
    for job_id, edits in editor.edits.items():
        slots = set(slots_between(edits, simulation.minutes))
        times = delivered[job_id]
        verdict.slots += len(slots)
        verdict.delivered += len(set(times))
        verdict.duplicates += [(job_id, f"{slot}") for slot in set(times) if times.count(slot) > 1]
        verdict.strangers += [(job_id, f"{slot}") for slot in set(times) - slots]
        verdict.losses += [
            (job_id, f"{slot}")
            for slot in slots - set(times)
            if not any(abs(slot - edit.at) < NOTICED_IN for edit in edits)
        ]
    return verdict


def slots_between(edits: list[Edit], minutes: int) -> Iterator[datetime]:
    """Yield the slots of each schedule in the time from its edit to the next."""
    end = START + minutes * MINUTE
    for edit, until in zip(edits, [*(later.at for later in edits[1:]), end], strict=True):
        if edit.step:
            yield from (
                slot for slot in every(edit.step, START, minutes) if edit.at < slot <= until
            )


def simulate(seed: int, size: Size, editor: Editor) -> Simulation:
    jobs = [job(f"job-{number}", **QUEUES[number % 2]) for number in range(size.jobs)]
    return Simulation(
        seed,
        jobs,
        size.minutes,
        actors=[editor],
        options={"tick_interval_seconds": 1},
    ).run()


@sizes(short=Size(20, 30, seeds=2), full=Size(100, 240, seeds=3))
def test_edits_while_replicas_run(score: Score, size: Size) -> None:
    for seed in seeds(size.seeds):
        editor = Editor(pause=(0.5, 5))
        simulation = simulate(seed, size, editor)
        verdict = judge_edits(simulation, editor)
        verdict.faults = sum(len(edits) - 1 for edits in editor.edits.values())
        score.add(verdict, seed)
        assert verdict.faults > size.minutes * 10


def test_an_edit_while_a_tick_is_frozen_does_not_fire_the_past() -> None:
    """The tick read the clock at 12:54:59; the edit came at 12:55:03; then the tick went on."""
    tick_at = datetime(2026, 11, 30, 12, 54, 59, tzinfo=UTC)
    edited_at = datetime(2026, 11, 30, 12, 55, 3, tzinfo=UTC)
    plan = plan_job(job("report"), None, tick_at, PlanningRules(), plan_from=edited_at)
    assert plan.next_run_at == datetime(2026, 11, 30, 12, 56, tzinfo=UTC)
