"""``python -m tests.servers exec -- COMMAND``: run a command beside real servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from types import FrameType

from tests.servers import PostgresServer, ValkeyServer


def main(arguments: list[str]) -> int:
    """Return the exit code of the command, or 2 for arguments that make no sense."""
    if arguments[:2] != ["exec", "--"] or len(arguments) < 3:
        sys.stderr.write("usage: python -m tests.servers exec -- COMMAND [ARGUMENT …]\n")
        return 2
    # Ctrl-C reaches the command as well, which may take its time; the servers must outlast it.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, _leave)
    with ExitStack() as stack:
        environment = dict(os.environ)
        if "DYNCRON_TEST_POSTGRES_URL" not in environment:
            postgres = PostgresServer.start()
            stack.callback(postgres.stop, "immediate")
            environment["DYNCRON_TEST_POSTGRES_URL"] = postgres.url
        if "DYNCRON_TEST_REDIS_URL" not in environment:
            valkey = ValkeyServer.start()
            stack.callback(valkey.stop)
            environment["DYNCRON_TEST_REDIS_URL"] = valkey.url
        return subprocess.call(arguments[2:], env=environment)


def _leave(signum: int, _frame: FrameType | None) -> None:
    # As an exception, so that the servers are stopped on the way out.
    sys.exit(128 + signum)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
