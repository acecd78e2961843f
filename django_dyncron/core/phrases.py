"""Texts that are made here in English and may be said elsewhere in another language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self


def gettext_noop(text: str) -> str:
    """Mark a text for translators. Django has the same, which is out of reach here."""
    return text


class Phrase(str):
    """An English text that remembers what it was made of, so that it can be translated later.

    ``template`` is the text to look up, marked by :func:`gettext_noop`, and ``values`` are what
    it is filled with, phrases among them. To whoever does not translate it is a text like any.
    """

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, values: Mapping[str, Any] | None = None) -> Self:
        phrase = super().__new__(cls, template % values if values else template)
        phrase.template = template
        phrase.values = values or {}
        return phrase


def either(first: str, second: str) -> Phrase:
    """Leave the choice between two."""
    values = {"first": first, "second": second}
    return Phrase(gettext_noop("%(first)s or %(second)s"), values)


def sentences(*texts: str) -> Phrase:
    """Say one after the other, those left out that are empty."""
    values = {str(place): text for place, text in enumerate(texts) if text}
    return Phrase(" ".join(f"%({place})s" for place in values), values)
