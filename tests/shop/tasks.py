from __future__ import annotations

import threading
from os import system  # noqa: F401 - what an imported function must not become: a task
from typing import Any

from django_dyncron import background_task
from django_dyncron.context import CurrentRun, current_run
from tests.shop.prices import round_prices  # noqa: F401 - a function of another module

calls: list[tuple[str, Any]] = []
"""What the tasks did, in order."""
runs: list[CurrentRun | None] = []
"""What they were told about their run, in order."""
gate = threading.Event()
"""Set it to let ``wait`` go on."""
arrived = threading.Event()
"""Set by ``wait`` once it is there."""


@background_task(queue="reports")
def build_report(day: str, *, full: bool = False) -> None:
    calls.append(("build_report", (day, full)))
    runs.append(current_run())


@background_task
async def ping(url: str) -> None:
    calls.append(("ping", url))
    runs.append(current_run())


@background_task
def fail(message: str = "out of paper") -> None:
    raise RuntimeError(message)


@background_task
def leave() -> None:
    raise SystemExit(3)


@background_task
def wait() -> None:
    arrived.set()
    gate.wait(30)
    calls.append(("wait", None))


def restock(count: int = 1) -> None:
    calls.append(("restock", count))
    runs.append(current_run())


class Ledger:
    def close(self) -> None: ...


ledger = Ledger()


def run_shell(command: str, stdin: str = "") -> None:
    calls.append(("run_shell", (command, stdin)))
