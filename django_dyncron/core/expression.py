"""From the text of an expression to its five fields, or to a refusal that says how to mend it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from .dialect import read_field, spread_field
from .exceptions import InvalidCronExpression
from .fields import FIELD_KINDS, CronFields

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

_ORDER = "minute, hour, day of month, month, day of week"


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
        raise InvalidCronExpression(
            f"A cron expression is text such as '0 6 * * *', not {type(expression).__name__}"
        )
    if len(expression) > MAX_LENGTH:
        raise InvalidCronExpression(
            f"The expression has {len(expression)} characters: use at most {MAX_LENGTH}",
            value=expression,
        )
    text = expression.strip()
    for character in text:
        if not (" " <= character <= "~" or character == "\t"):
            raise InvalidCronExpression(
                f"The expression holds {character!a}: use plain ASCII characters only",
                value=expression,
            )
    return text


def _five_parts(text: str) -> list[str]:
    if not text:
        raise InvalidCronExpression(
            f"The expression is empty: write five fields ({_ORDER}), such as '0 6 * * *'"
        )
    if text.startswith("@"):
        raise InvalidCronExpression(_why_no_alias(text), value=text)
    parts = text.split()
    if len(parts) != len(FIELD_KINDS):
        raise InvalidCronExpression(_why_not_five(parts), value=text)
    return parts


def _why_no_alias(text: str) -> str:
    name = text.split(maxsplit=1)[0].lower()
    if name == "@reboot":
        return "'@reboot' names no time, and many replicas have no common boot: choose a schedule"
    if name == "@every":
        return "'@every' depends on when it was started: use steps, such as '*/5 * * * *'"
    return f"'{text}' is no alias: use one of {', '.join(ALIASES)}"


def _why_not_five(parts: list[str]) -> str:
    found = f"The expression has {len(parts)} field{'' if len(parts) == 1 else 's'}"
    if len(parts) == 6:
        return f"{found}: there are no seconds here, use five ({_ORDER})"
    if len(parts) == 7:
        return f"{found}: there are neither seconds nor years here, use five ({_ORDER})"
    return f"{found}: use five ({_ORDER})"
