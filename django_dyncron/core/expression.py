"""From the text of an expression to its five fields, or to a refusal that says how to mend it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from .dialect import read_field, spread_field
from .fields import FIELD_KINDS, CronFields
from .refusals import RefusalCode, refusal

MAX_LENGTH = 255
"""Longest expression accepted, in characters."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "@hourly": "0 * * * *",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *",
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
    }
)
"""The names of crontab(5), with the five fields each stands for."""

_WHY_NOT_FIVE = {6: RefusalCode.HAS_SECONDS, 7: RefusalCode.HAS_YEARS}
_WHY_NO_ALIAS = {"@reboot": RefusalCode.REBOOT, "@every": RefusalCode.EVERY}


def read_expression(expression: object, hash_id: str | None = None) -> CronFields:
    """Read five fields or an alias.

    Raises :class:`InvalidCronExpression` for anything else, whatever its type.
    """
    text = _plain_text(expression)
    parts = _five_parts(ALIASES.get(text.lower(), text))
    return CronFields(
        *(read_field(kind, part, hash_id) for kind, part in zip(FIELD_KINDS, parts, strict=True))
    )


def is_hashed(expression: object) -> bool:
    """Tell whether an ``H`` in ``expression`` makes it differ from job to job."""
    parts = expression.split() if isinstance(expression, str) else ()
    return any(item[:1] in ("H", "h") for part in parts for item in part.split(","))


def spread_expression(expression: object) -> tuple[str, float]:
    """Return ``expression`` with each ``H`` replaced by all it may pick, and the part it does pick.

    Many jobs that share ``expression`` run as often, and spread as evenly, as that part of them
    would by the expression returned. (The part is too small for days named by both of their
    fields, one of them with an ``H``.) Raises :class:`InvalidCronExpression`.
    """
    parts = [
        spread_field(kind, part)
        for kind, part in zip(FIELD_KINDS, _five_parts(_plain_text(expression)), strict=True)
    ]
    return " ".join(text for text, _ in parts), prod(share for _, share in parts)


def _plain_text(expression: object) -> str:
    if not isinstance(expression, str):
        raise refusal(RefusalCode.NOT_TEXT, type=type(expression).__name__)
    if len(expression) > MAX_LENGTH:
        raise refusal(
            RefusalCode.TOO_LONG, value=expression, length=len(expression), most=MAX_LENGTH
        )
    text = expression.strip()
    for character in text:
        if not (" " <= character <= "~" or character == "\t"):
            raise refusal(RefusalCode.NOT_ASCII, value=expression, character=character)
    return text


def _five_parts(text: str) -> list[str]:
    if not text:
        raise refusal(RefusalCode.EMPTY)
    if text.startswith("@"):
        name = text.split(maxsplit=1)[0].lower()
        code = _WHY_NO_ALIAS.get(name, RefusalCode.UNKNOWN_ALIAS)
        raise refusal(code, value=text, alias=text, aliases=", ".join(ALIASES))
    parts = text.split()
    if len(parts) != len(FIELD_KINDS):
        code = _WHY_NOT_FIVE.get(len(parts), RefusalCode.FIELD_COUNT)
        raise refusal(code, value=text, count=len(parts))
    return parts
