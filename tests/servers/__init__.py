"""Real servers for tests and benchmarks, started from installed wheels; no set-up by hand.

``python -m tests.servers exec -- COMMAND`` starts both, tells COMMAND their addresses in
``DYNCRON_TEST_POSTGRES_URL`` and ``DYNCRON_TEST_REDIS_URL``, and stops them when it ends.
"""

from __future__ import annotations

from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer

__all__ = ["PostgresServer", "ValkeyServer"]
