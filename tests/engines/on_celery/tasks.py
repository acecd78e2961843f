from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from celery import Task, shared_task
from celery.exceptions import Ignore, Reject, SoftTimeLimitExceeded

from django_dyncron import runs_once
from tests.engines.tasks import write_note


@shared_task
def note(path: str, word: str) -> None:
    write_note(path, word)


@shared_task(name="celery-fail")
def fail(path: str, message: str) -> None:
    write_note(path, "begun")
    raise RuntimeError(message)


@shared_task(bind=True, max_retries=2, default_retry_delay=0)
def retry(self: Task, path: str, times: int) -> None:
    """Fail ``times`` times, then succeed; Celery tries three times in all."""
    write_note(path, f"attempt {self.request.retries + 1}")
    if self.request.retries < times:
        raise self.retry(exc=RuntimeError("not yet"))


@shared_task(bind=True, max_retries=2, default_retry_delay=0)
@runs_once
def retry_once(self: Task, path: str) -> None:
    """Ask for another attempt, which the guard will not let start."""
    write_note(path, f"attempt {self.request.retries + 1}")
    raise self.retry(exc=RuntimeError("not yet"))


@shared_task
def ignore(path: str) -> None:
    write_note(path, "ignored")
    raise Ignore


@shared_task(bind=True, acks_late=True)
def reject(self: Task, path: str) -> None:
    """Put the message back once, then throw it away."""
    is_redelivered = self.request.delivery_info["redelivered"]
    write_note(path, "again" if is_redelivered else "first")
    raise Reject("no such customer", requeue=not is_redelivered)


@shared_task
def sleep(path: str) -> None:
    write_note(path, "asleep")
    try:
        time.sleep(60)
    except SoftTimeLimitExceeded:
        write_note(path, "woken")
        raise


@shared_task
def die(path: str) -> None:
    write_note(path, "dying")
    time.sleep(0.3)  # until the main process knows that this was begun, or it begins it again
    os.kill(os.getpid(), signal.SIGKILL)


@shared_task
def leave(path: str) -> None:
    write_note(path, "leaving")
    time.sleep(0.3)
    sys.exit(3)


@shared_task
def answer() -> dict[str, Any]:
    return {"answer": 42}
