"""Hints for names that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from .core.phrases import Phrase, gettext_noop


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question that names the known spelling nearest to ``name``, if one is near."""
    folded = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(str(name).casefold(), sorted(folded), n=1)
    if not nearest:
        return ""
    return Phrase(gettext_noop('Did you mean "%(name)s"?'), {"name": folded[nearest[0]]})
