"""Hints for names that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question that names the known spelling nearest to ``name``, if one is near."""
    folded = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(str(name).casefold(), sorted(folded), n=1)
    return f'Did you mean "{folded[nearest[0]]}"?' if nearest else ""
