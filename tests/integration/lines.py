"""Files that many processes append lines to: how the tests see what the processes did."""

from __future__ import annotations

import os
from pathlib import Path


def append_line(path: str, *fields: object) -> None:
    """Add one line of tab-separated ``fields``, whole, whoever else is writing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        # One write to a file open for appending is not torn apart by others.
        os.write(descriptor, ("\t".join(map(str, fields)) + "\n").encode())
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> list[list[str]]:
    """Return the complete lines as lists of fields; a file that is not there has none."""
    if not path.exists():
        return []
    return [line.split("\t") for line in path.read_text().split("\n")[:-1]]
