"""A broker beside the global one."""

from __future__ import annotations

import os

from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import AsyncIO

from tests.engines.on_dramatiq.ending import EndWithTheTest

reports = RedisBroker(url=os.environ["DYNCRON_TEST_QUEUE_URL"])
reports.add_middleware(AsyncIO())
reports.add_middleware(EndWithTheTest())
