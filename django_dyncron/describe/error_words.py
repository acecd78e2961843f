"""The words of errors: of those that say what to write instead, in the language of the reader."""

from __future__ import annotations

from django.utils.translation import gettext

from ..core.phrases import Phrase


def error_text(error: BaseException) -> str:
    """Say an error in words; one that was not made of a :class:`Phrase` says its own."""
    message = error.args[0] if error.args else ""
    return _in_words(message) if isinstance(message, Phrase) else str(error)


def _in_words(phrase: Phrase) -> str:
    text = gettext(phrase.template)
    if not phrase.values:
        return text
    return text % {
        name: _in_words(value) if isinstance(value, Phrase) else value
        for name, value in phrase.values.items()
    }
