"""How a command is stopped from outside: once with grace, and twice at once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from itertools import count


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Have the first SIGTERM or SIGINT call ``stop``, and the second end the process with 1.

    To be called in the event loop.
    """
    loop = asyncio.get_running_loop()
    told = count()

    def on_signal() -> None:
        if next(told):
            # Not sys.exit(): a thread blocked in the database would hold the process.
            os._exit(1)
        stop()

    # There is no such thing on some systems, or outside the main thread.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, on_signal)
