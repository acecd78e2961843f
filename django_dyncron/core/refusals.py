"""Why a schedule is refused: a code and values, and the English text made of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from .exceptions import InvalidCronExpression
from .phrases import Phrase, gettext_noop


class RefusalCode(StrEnum):
    """Every refusal there is; the values that come with each are named here."""

    NOT_TEXT = "not_text"
    """``type`` of what was given instead."""
    TOO_LONG = "too_long"
    """``length`` in characters, and the ``most`` there may be."""
    NOT_ASCII = "not_ascii"
    """``character``, the first such."""
    EMPTY = "empty"
    FIELD_COUNT = "field_count"
    """``count``; so in the next two, which are about 6 and 7 fields."""
    HAS_SECONDS = "has_seconds"
    HAS_YEARS = "has_years"
    REBOOT = "reboot"
    """``alias``, what was written, and the ``aliases`` there are; so in the next two."""
    EVERY = "every"
    UNKNOWN_ALIAS = "unknown_alias"
    MISSING_VALUE = "missing_value"
    OUT_OF_RANGE = "out_of_range"
    """``bounds``, what may be typed; so in the next."""
    NOT_UNDERSTOOD = "not_understood"
    LONG_NAME = "long_name"
    """``name``, as it is to be typed."""
    RANDOM = "random"
    STAR_IN_RANGE = "star_in_range"
    ONE_VALUE_RANGE = "one_value_range"
    """``fix``, what to type instead; so in the next."""
    WRAPS_AROUND = "wraps_around"
    NOT_A_STEP = "not_a_step"
    """``step``, as it was typed."""
    STEP_OF_ZERO = "step_of_zero"
    STEP_FROM_WEEKDAY = "step_from_weekday"
    """``fix``."""
    STEP_FROM_LAST = "step_from_last"
    """``last``, the value it begins with, and the ``step``."""
    LAST_WEEKDAY = "last_weekday"
    NTH_WEEKDAY = "nth_weekday"
    MISSPELT_HASH = "misspelt_hash"
    HASH_WITHOUT_ID = "hash_without_id"
    HASH_ID_NOT_TEXT = "hash_id_not_text"
    """``given``, as Python spells it."""
    NOT_ACCEPTED = "not_accepted"
    """``reason``, in croniter's words."""
    NO_SUCH_DAY = "no_such_day"
    """``month``, in canonical spelling."""
    NO_SUCH_WEEKDAY = "no_such_weekday"
    """``weekday`` and ``month`` in canonical spelling; the month is blank if it is any."""
    NEVER_IN_ZONE = "never_in_zone"
    """``time_zone``."""
    UNKNOWN_POLICY = "unknown_policy"
    """``policy``, what was ``given``, as Python spells it, and the values ``known``."""
    TIME_ZONE_NOT_TEXT = "time_zone_not_text"
    """``given``, as Python spells it."""
    UNKNOWN_TIME_ZONE = "unknown_time_zone"
    """``name`` and a ``suggestion``, blank if no name is near."""


_IN_FIELD = gettext_noop("%(field)s '%(value)s': %(fix)s")

_TEXTS = {
    RefusalCode.NOT_TEXT: gettext_noop(
        "A cron expression is text such as '0 6 * * *', not %(type)s"
    ),
    RefusalCode.TOO_LONG: gettext_noop(
        "The expression has %(length)d characters: use at most %(most)d"
    ),
    RefusalCode.NOT_ASCII: gettext_noop(
        "The expression holds %(character)a: use plain ASCII characters only"
    ),
    RefusalCode.EMPTY: gettext_noop(
        "The expression is empty: write five fields "
        "(minute, hour, day of month, month, day of week), such as '0 6 * * *'"
    ),
    RefusalCode.FIELD_COUNT: gettext_noop(
        "The expression has %(count)d fields: use five "
        "(minute, hour, day of month, month, day of week)"
    ),
    RefusalCode.HAS_SECONDS: gettext_noop(
        "The expression has %(count)d fields: there are no seconds here, use five "
        "(minute, hour, day of month, month, day of week)"
    ),
    RefusalCode.HAS_YEARS: gettext_noop(
        "The expression has %(count)d fields: there are neither seconds nor years here, use five "
        "(minute, hour, day of month, month, day of week)"
    ),
    RefusalCode.REBOOT: gettext_noop(
        "'@reboot' names no time, and many replicas have no common boot: choose a schedule"
    ),
    RefusalCode.EVERY: gettext_noop(
        "'@every' depends on when it was started: use steps, such as '*/5 * * * *'"
    ),
    RefusalCode.UNKNOWN_ALIAS: gettext_noop("'%(alias)s' is no alias: use one of %(aliases)s"),
    RefusalCode.MISSING_VALUE: gettext_noop("a value is missing, remove the comma or fill it in"),
    RefusalCode.OUT_OF_RANGE: gettext_noop("use %(bounds)s"),
    RefusalCode.NOT_UNDERSTOOD: gettext_noop(
        "not understood, use %(bounds)s, '*', or ranges and steps of them"
    ),
    RefusalCode.LONG_NAME: gettext_noop("use %(name)s"),
    RefusalCode.RANDOM: gettext_noop("a random value would differ on every replica, use H"),
    RefusalCode.STAR_IN_RANGE: gettext_noop("'*' has no end, use '*' alone or a range such as 1-5"),
    RefusalCode.ONE_VALUE_RANGE: gettext_noop("the range holds one value, use %(fix)s"),
    RefusalCode.WRAPS_AROUND: gettext_noop("ranges do not wrap around, use %(fix)s"),
    RefusalCode.NOT_A_STEP: gettext_noop("'%(step)s' is not a step, use a number such as 5"),
    RefusalCode.STEP_OF_ZERO: gettext_noop("a step of 0 never moves on, use 1 or more"),
    RefusalCode.STEP_FROM_WEEKDAY: gettext_noop(
        "a start and a step do not go with days of the week, use %(fix)s"
    ),
    RefusalCode.STEP_FROM_LAST: gettext_noop(
        "a step from the last value leads nowhere, use %(last)d or */%(step)d"
    ),
    RefusalCode.LAST_WEEKDAY: gettext_noop("say the last what, such as L5 for the last Friday"),
    RefusalCode.NTH_WEEKDAY: gettext_noop("after '#' use 1 to 5, or L5 for the last Friday"),
    RefusalCode.MISSPELT_HASH: gettext_noop(
        "use H, H/15, H(0-29) or H(0-29)/10, with values of this field"
    ),
    RefusalCode.HASH_WITHOUT_ID: gettext_noop(
        "H picks a value by the job id, which is not known here"
    ),
    RefusalCode.HASH_ID_NOT_TEXT: gettext_noop("A hash_id is the job id as text, not %(given)s"),
    RefusalCode.NOT_ACCEPTED: gettext_noop("not accepted by croniter: %(reason)s"),
    RefusalCode.NO_SUCH_DAY: gettext_noop("never fires, as month '%(month)s' has no such day"),
    RefusalCode.NO_SUCH_WEEKDAY: gettext_noop(
        "never fires, as it is never '%(weekday)s' in month '%(month)s'"
    ),
    RefusalCode.NEVER_IN_ZONE: gettext_noop(
        "The expression never fires in %(time_zone)s: it names only minutes that clocks skip when "
        "they go forward. Choose another time"
    ),
    RefusalCode.UNKNOWN_POLICY: gettext_noop(
        "%(policy)s %(given)s is unknown: use one of %(known)s"
    ),
    RefusalCode.TIME_ZONE_NOT_TEXT: gettext_noop(
        "A time zone is a name such as 'Europe/Paris', not %(given)s"
    ),
    RefusalCode.UNKNOWN_TIME_ZONE: gettext_noop(
        "Time zone '%(name)s' is unknown: did you mean '%(suggestion)s'?"
    ),
}

_SPECIAL_TEXTS: Mapping[RefusalCode, tuple[str, object, str]] = {
    RefusalCode.FIELD_COUNT: (
        "count",
        1,
        gettext_noop(
            "The expression has 1 field: use five (minute, hour, day of month, month, day of week)"
        ),
    ),
    RefusalCode.NO_SUCH_WEEKDAY: (
        "month",
        "",
        gettext_noop("never fires, as it is never '%(weekday)s'"),
    ),
    RefusalCode.UNKNOWN_TIME_ZONE: (
        "suggestion",
        "",
        gettext_noop("Time zone '%(name)s' is unknown: use an IANA name such as 'Europe/Paris'"),
    ),
}
"""What to say instead if one of the values is a certain one."""


def refusal_text(code: RefusalCode, params: Mapping[str, Any]) -> Phrase:
    """Return the words of one refusal; of a single field, only what comes after its value."""
    text = _TEXTS[code]
    if code in _SPECIAL_TEXTS:
        name, value, special = _SPECIAL_TEXTS[code]
        text = special if params[name] == value else text
    return Phrase(text, params)


def refusal_of_field(
    name: str, label: str, value: str, code: RefusalCode, params: Mapping[str, Any]
) -> InvalidCronExpression:
    """Make the error for ``value``, a part of one field."""
    fix = refusal_text(code, params)
    message = Phrase(_IN_FIELD, {"field": Phrase(label), "value": value, "fix": fix})
    return InvalidCronExpression(message, field=name, value=value, code=code, params=params)


def refusal(
    code: RefusalCode, *, field: str = "expression", value: str = "", **params: Any
) -> InvalidCronExpression:
    """Make the error for what is no matter of a single field."""
    message = refusal_text(code, params)
    return InvalidCronExpression(message, field=field, value=value, code=code, params=params)
