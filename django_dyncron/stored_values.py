"""Whether two values of a row are one, though a database may give back another spelling of it."""

from __future__ import annotations

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are one to a task: numbers by their size, but ``1`` is not ``true``.

    A database may give back ``1`` for ``1.0`` and, for a large one, digits that make an integer of
    another size. Moments are equal whatever their zone.
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if {type(one), type(other)} == {int, float}:
        try:
            return float(one) == float(other)
        except OverflowError:
            return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
