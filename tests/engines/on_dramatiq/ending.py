"""The end of Dramatiq's workers, should the test die."""

from __future__ import annotations

import os
import signal
import threading
import time

import psutil
from dramatiq.middleware import Middleware


class EndWithTheTest(Middleware):
    """Stops the master of a worker when the test is gone, and with it the worker.

    The master imports no settings of ours, and leaves its workers no standard input.
    """

    def after_worker_boot(self, broker: object, worker: object) -> None:
        test = int(os.environ["DYNCRON_TEST_OWNER"])
        threading.Thread(target=_watch, args=(test, os.getppid()), daemon=True).start()


def _watch(test: int, master: int) -> None:
    while psutil.pid_exists(test):
        time.sleep(0.5)
    if os.getppid() == master:
        os.kill(master, signal.SIGKILL)
