from __future__ import annotations

from tests.engines.engine import Engine as _Engine


def worker_command(queue: str, *options: str) -> tuple[str, ...]:
    """Return what follows ``python`` to start a worker of one queue."""
    return (
        *("-m", "celery", "-A", "tests.engines.on_celery", "worker", "-Q", queue, "-n", queue),
        *("--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"),
        *options,
    )


class Engine(_Engine):
    name = "celery"
    worker_command = worker_command("celery", "--concurrency", "4")
    ready = " ready."
    native_task = "tests.engines.on_celery.tasks.note"
    native_failing_task = "celery-fail"
    options = {"priority": 3, "expires": 600, "headers": {"tenant": "north"}}
    knows_queues = True
