"""Who is at the command line."""

from __future__ import annotations

import getpass
import os

from ..core.text import storable


def who() -> str:
    """Return ``ann (manage.py)``: what a record of an action by command says."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        # In a container the number of the user often has no name.
        name = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    # The environment may hold bytes that are no text.
    return f"{storable(name)} (manage.py)"
