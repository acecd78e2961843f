"""Telling monitors that wait for a sign of life how the runs of single jobs go, over HTTP.

``receivers`` turn signals into pings, ``lines`` send them in threads of their own so that no tick
and no task waits for a monitor, ``sending`` knows the way. Nothing of this is imported unless
``PING_URLS`` allows an address.
"""

from __future__ import annotations

from .lines import flush
from .receivers import connect, disconnect

__all__ = ["connect", "disconnect", "flush"]
