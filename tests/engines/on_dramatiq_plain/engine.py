"""Dramatiq's worker, started by its own command."""

from __future__ import annotations

from tests.engines.on_dramatiq.engine import Engine as DramatiqEngine


class Engine(DramatiqEngine):
    name = "dramatiq_plain"
    worker_command = (
        *("-m", "dramatiq", "--processes", "1", "--threads", "2"),
        *("tests.engines.on_dramatiq_plain.worker:reports", "django_dyncron.tasks"),
    )
    native_task = "note"
    native_failing_task = "tests.engines.on_dramatiq_plain.tasks.fail"
