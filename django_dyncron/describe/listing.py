"""Lists and ranges in words: ``1, 2 and 5 to 9``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from django.utils.translation import gettext as _


def listed(items: Sequence[str]) -> str:
    """Join words with commas and a final "and"."""
    if len(items) == 1:
        return items[0]
    return _("%(first_ones)s and %(last)s") % {
        "first_ones": ", ".join(items[:-1]),
        "last": items[-1],
    }


def ranges(numbers: Sequence[int], spell: Callable[[int], str]) -> list[str]:
    """Spell ascending numbers, three or more in a row as a range."""
    spelt: list[str] = []
    for first, last in runs(numbers):
        if last - first > 1:
            spelt.append(_("%(first)s to %(last)s") % {"first": spell(first), "last": spell(last)})
        else:
            spelt.extend(spell(number) for number in range(first, last + 1))
    return spelt


def runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Group ascending numbers into runs without holes, each as its first and last."""
    groups = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    found = [[number for _index, number in group] for _offset, group in groups]
    return [(run[0], run[-1]) for run in found]
