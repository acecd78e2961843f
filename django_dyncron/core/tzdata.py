"""The release of the time zone database that schedules are worked out with."""

from __future__ import annotations

import zoneinfo
from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def tzdata_version() -> str:
    """Return the release, such as ``"2026f"``; empty if it cannot be told.

    Releases compare as text. :mod:`zoneinfo` prefers the system's files to the ``tzdata`` package,
    so the system's release is told where there is one.
    """
    for directory in zoneinfo.TZPATH:
        if (Path(directory) / "UTC").exists():
            return _of_system(Path(directory))
    try:
        return str(import_module("tzdata").IANA_VERSION)
    except (ImportError, AttributeError):
        return ""


def _of_system(directory: Path) -> str:
    # "# version 2026f" is the first line of tzdata.zi; BSD and macOS have +VERSION instead.
    for name in ("tzdata.zi", "+VERSION"):
        try:
            with (directory / name).open(encoding="ascii", errors="replace") as file:
                return file.readline().removeprefix("# version").strip()[:20]
        except OSError:
            continue
    return ""
