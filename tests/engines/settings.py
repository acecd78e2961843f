"""Settings of the scheduler and of the workers, but for the queue, which each engine adds."""

from __future__ import annotations

import os
import stat
import threading
import time

from tests.settings import *  # noqa: F403

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django_dyncron",
    "tests.engines",
]

MIDDLEWARE: list[str] = []
ROOT_URLCONF = ""

QUEUE_URL = os.environ.get("DYNCRON_TEST_QUEUE_URL", "")
"""An empty database of a Redis, for the engines that need one."""

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {"django_dyncron": {"handlers": ["stderr"], "level": "INFO"}},
}


def _end_with_the_test() -> None:
    parent = os.getppid()
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        # Standard input is a pipe whose other end the kernel closes however the test dies.
        os.read(0, 1)
    else:
        # A worker's own child has no such pipe, but a parent that has.
        while os.getppid() == parent:
            time.sleep(0.5)
    os._exit(70)


if "DYNCRON_TEST_DATABASE_URL" in os.environ:
    threading.Thread(target=_end_with_the_test, name="end-with-the-test", daemon=True).start()
