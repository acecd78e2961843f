"""What the processes that the tests start run by name. Paths come with the payload."""

from __future__ import annotations

import time
from pathlib import Path

from django_dyncron import background_task
from django_dyncron.context import current_run
from tests.integration.lines import append_line


@background_task
def note(path: str) -> None:
    """Append the job's id and slot to the file ``path``."""
    run = current_run()
    assert run is not None
    assert run.scheduled_for is not None
    append_line(path, run.job_id, f"{run.scheduled_for:%Y-%m-%dT%H:%MZ}", run.run_id, time.time())


@background_task
def work(path: str, until: str) -> None:
    """Append ``begun``, wait until the file ``until`` exists, then append ``ended``."""
    append_line(path, "begun")
    while not Path(until).exists():
        time.sleep(0.02)
    append_line(path, "ended")


@background_task
def fail() -> None:
    raise RuntimeError("out of paper")
