"""What each test counted: checked when it ends, and shown in one table after the last of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.chaos.verdict import Verdict

FIRST_SEED = int(os.environ.get("DYNCRON_CHAOS_SEED", "1"))
"""Name another to try other courses, or that of a failure to see it again."""


@dataclass
class Score:
    """The sum of the verdicts of one test, or of all its parameters."""

    name: str
    cases: int = 0
    seeds: set[int] = field(default_factory=set)
    sum: Verdict = field(default_factory=Verdict)
    seconds: float = 0.0

    def add(self, verdict: Verdict, seed: int | None = None) -> None:
        """Count ``verdict``; fail, naming the seed, unless nothing came twice, late or unasked."""
        self.cases += 1
        if seed is not None:
            self.seeds.add(seed)
        self.sum.add(verdict)
        assert verdict.is_clean, (
            f"DYNCRON_CHAOS_SEED={seed} shows it again: {len(verdict.duplicates)} duplicates"
            f" {verdict.duplicates[:5]}, {len(verdict.losses)} losses {verdict.losses[:5]},"
            f" {len(verdict.strangers)} unscheduled {verdict.strangers[:5]}"
        )

    def merge(self, other: Score) -> None:
        self.cases += other.cases
        self.seeds |= other.seeds
        self.sum.add(other.sum)
        self.seconds += other.seconds

    @property
    def columns(self) -> tuple[str, ...]:
        counted = self.sum
        seeds = f"{min(self.seeds)}-{max(self.seeds)}" if self.seeds else "-"
        numbers = (
            self.cases,
            counted.faults,
            counted.slots,
            len(counted.duplicates),
            len(counted.losses),
            counted.repeats,
        )
        return (self.name, seeds, *(f"{number:,}" for number in numbers), f"{self.seconds:.1f}")


HEADINGS = (
    "test",
    "seeds",
    "cases",
    "faults",
    "slots",
    "duplicates",
    "losses",
    "repeats",
    "seconds",
)


def table(scores: list[Score]) -> Iterator[str]:
    """Lay out the scores, one row for all parameters of a test, the sum of them last."""
    merged: dict[str, Score] = {}
    for score in scores:
        merged.setdefault(score.name, Score(score.name)).merge(score)
    total = Score("total")
    for score in merged.values():
        total.merge(score)
    total.seeds.clear()
    rows = [HEADINGS, *(score.columns for score in (*merged.values(), total))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = (number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True))
        yield "  ".join([name.ljust(widths[0]), *cells])


def seeds(count: int) -> range:
    """Return ``count`` seeds from the first one on."""
    return range(FIRST_SEED, FIRST_SEED + count)


def sizes(short: Any, full: Any) -> pytest.MarkDecorator:
    """Run a test with ``size=short`` always, and with ``full`` in ``make chaos``."""
    return pytest.mark.parametrize(
        "size",
        [pytest.param(short, id="short"), pytest.param(full, id="full", marks=pytest.mark.chaos)],
    )
