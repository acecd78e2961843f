"""The scoreboard of this run, and the clusters of real processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.chaos.scoreboard import Score, table
from tests.integration.conftest import cluster_on, postgres_cluster  # noqa: F401

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

_scores: list[Score] = []


@pytest.fixture
def score(request: pytest.FixtureRequest) -> Iterator[Score]:
    """What this test counts; shown in the summary if it counted anything."""
    counted = Score(request.node.originalname.removeprefix("test_").replace("_", " "))
    began = time.monotonic()
    yield counted
    counted.seconds = time.monotonic() - began
    if counted.sum.slots:
        _scores.append(counted)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    if _scores:
        terminalreporter.section("slots under chaos")
        for line in table(_scores):
            terminalreporter.write_line(line)
