"""Who holds a lock."""

from __future__ import annotations

import os
from uuid import uuid4


class Owner:
    """A token that no other provider has, in this process or in another.

    It is the same for all locks of a provider, so that nothing need be remembered until a lock is
    given back, and one whose granting was never heard of can be given back too.
    """

    def __init__(self) -> None:
        self._id = uuid4().hex

    def __str__(self) -> str:
        # A forked child has a copy of the provider, but not of its locks.
        return f"{self._id}.{os.getpid()}"
