"""Figures in columns, and whether a target was met."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from statistics import median

import psutil

_FIRST = 34
_OTHERS = 13


def print_machine() -> None:
    """Say what the figures were measured on."""
    import django
    import psycopg

    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB,"
        f" Python {platform.python_version()}, Django {django.__version__},"
        f" psycopg {psycopg.__version__}; load {load}"
    )


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print ``rows``, whose first cell is a name, under ``columns``."""
    print(f"\n{title}")
    for row in (("", *columns), *rows):
        print(f"{row[0]:{_FIRST}}" + "".join(f"{cell:>{_OTHERS}}" for cell in row[1:]))


def print_target(what: str, value: float, limit: float, unit: str = "times") -> None:
    """Print whether ``value`` keeps within ``limit``."""
    verdict = "met" if value <= limit else "MISSED"
    print(f"{what}: {value:.2f} {unit}, target {limit:g}: {verdict}")


def ratio_of(ours: Sequence[float], floors: Sequence[float]) -> float:
    """Return the median of the ratios of neighbours, which were measured one after the other."""
    return median(our / floor for our, floor in zip(ours, floors, strict=True))
