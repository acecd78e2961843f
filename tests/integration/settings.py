"""Settings of the processes that these tests start.

They are those of the tests, but ``DYNCRON`` is the JSON in ``DYNCRON_TEST_SETTINGS``, and the log
goes to standard error.
"""

from __future__ import annotations

import json
import os
import threading

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS as _INSTALLED_APPS

INSTALLED_APPS = [*_INSTALLED_APPS, "tests.integration"]

DYNCRON = json.loads(os.environ["DYNCRON_TEST_SETTINGS"])

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {"django_dyncron": {"handlers": ["stderr"], "level": "INFO"}},
}


def _end_with_the_test() -> None:
    # Standard input is a pipe whose other end the kernel closes however the test dies.
    os.read(0, 1)
    os._exit(70)


threading.Thread(target=_end_with_the_test, name="end-with-the-test", daemon=True).start()
