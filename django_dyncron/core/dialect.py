"""The grammar of one field: what it means, or why it is refused and what to write instead.

croniter expands the plain items, and sees only spellings on which its releases agree. The rest is
settled here, because croniter folds ``1-31`` into ``*``, lets ``22-4`` wrap around, reads ``59/15``
as 59 and has no ``LW``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from croniter import CroniterError, croniter

from .exceptions import InvalidCronExpression
from .fields import DAY_OF_MONTH, DAY_OF_WEEK, FIELD_KINDS, LAST, Field, FieldKind, SpecialDay
from .hashing import hashed_value
from .refusals import RefusalCode

_PLAIN = re.compile(r"(?P<low>\*|\w+)(?:-(?P<high>\w+))?(?:/(?P<step>\w+))?", re.ASCII)
_HASHED = re.compile(r"H(?:\((?P<low>\w+)-(?P<high>\w+)\))?(?:/(?P<step>\w+))?", re.ASCII)
_NEAREST = re.compile(r"(\w+)W", re.ASCII)
_NTH = re.compile(r"(.*)#(.*)", re.ASCII)
_LAST = re.compile(r"L(\w+)|(\w+)L", re.ASCII)


def read_field(kind: FieldKind, text: str, hash_id: str | None) -> Field:
    """Read one field, as typed.

    ``H`` is resolved with ``hash_id``. Raises :class:`InvalidCronExpression`, naming the field.
    """
    items = [
        _resolve_hash(kind, item, hash_id) if item[:1] in ("H", "h") else item
        for item in text.split(",")
    ]
    return _read_plain_field(kind, ",".join(items))


def spread_field(kind: FieldKind, text: str) -> tuple[str, float]:
    """Return one field with each ``H`` replaced by all it may pick, and the part it does pick.

    The part is that of the values of the field which an average job has.
    """
    spread, picked = [], 0.0
    for item in text.split(","):
        if item[:1] in ("H", "h"):
            low, high, step = _hash_range(kind, item)
            spread.append(f"{low}-{high}")
            picked += 1 if step is None else max(1, (high - low + 1) / step)
        else:
            spread.append(item)
            picked += _size(_read_plain_field(kind, item))
    widened = ",".join(spread)
    return widened, min(1.0, picked / _size(_read_plain_field(kind, widened)))


def _size(field: Field) -> int:
    return field.mask.bit_count() + len(field.special)


@lru_cache(maxsize=4096)
def _read_plain_field(kind: FieldKind, text: str) -> Field:
    if text == "?" and kind in (DAY_OF_MONTH, DAY_OF_WEEK):
        text = "*"
    plain: list[str] = []
    spelt: list[str] = []
    special: list[SpecialDay] = []
    step = 1
    for item in text.split(","):
        day = _special_day(kind, item)
        if day is None:
            canonical, step = _plain_item(kind, item)
            plain.append(canonical)
        else:
            canonical = _spell(day)
            special.append(day)
        spelt.append(canonical)
    only_step = step if len(spelt) == 1 else 1
    return Field(kind, ",".join(spelt), _expand(kind, plain), tuple(special), only_step)


def _expand(kind: FieldKind, items: list[str]) -> int:
    if not items:
        return 0
    probe = ["*"] * len(FIELD_KINDS)
    probe[kind.position] = ",".join(items)
    try:
        values = croniter.expand(" ".join(probe))[0][kind.position]
    except CroniterError as error:  # a future release may be stricter than this module
        raise kind.refuse(",".join(items), RefusalCode.NOT_ACCEPTED, reason=str(error)) from error
    if "*" in values:
        values = list(range(kind.low, kind.high + 1))
    return sum(1 << int(value) for value in set(values))


def _plain_item(kind: FieldKind, item: str) -> tuple[str, int]:
    """Spell an item canonically; its step as well, if it runs to the end of the field."""
    match = _PLAIN.fullmatch(item)
    if match is None:
        raise _unreadable(kind, item)
    step = _step(kind, item, match["step"])
    if match["low"] == "*":
        if match["high"] is not None:
            raise kind.refuse(item, RefusalCode.STAR_IN_RANGE)
        return ("*" if step == 1 else f"*/{step}"), step
    low = _value(kind, item, match["low"])
    if match["high"] is not None:
        high = _range_end(kind, item, match["low"], match["high"])
        spans_field = low == kind.low and high >= kind.high
        return f"{low}-{high}" + (f"/{step}" if step > 1 else ""), step if spans_field else 1
    if match["step"] is None:
        return str(kind.low if low == kind.alias else low), 1
    _check_open_step(kind, item, low, step)
    return f"{low}-{kind.high}" + (f"/{step}" if step > 1 else ""), step


def _check_open_step(kind: FieldKind, item: str, low: int, step: int) -> None:
    if kind is DAY_OF_WEEK:
        start = low % kind.size
        fix = f"{start}-{kind.high}/{step}" if start < kind.high else str(start)
        raise kind.refuse(item, RefusalCode.STEP_FROM_WEEKDAY, fix=fix)
    if low == kind.high:
        raise kind.refuse(item, RefusalCode.STEP_FROM_LAST, last=low, step=step)


def _step(kind: FieldKind, item: str, text: str | None) -> int:
    if text is None:
        return 1
    if not text.isdigit():
        raise kind.refuse(item, RefusalCode.NOT_A_STEP, step=text)
    if int(text) == 0:
        raise kind.refuse(item, RefusalCode.STEP_OF_ZERO)
    return int(text)


def _value(kind: FieldKind, item: str, text: str) -> int:
    if text.isdigit():
        number = int(text)
        if kind.low <= number <= kind.high or number == kind.alias:
            return number
        raise kind.refuse(item, RefusalCode.OUT_OF_RANGE, bounds=kind.bounds)
    name = text.upper()
    if name in kind.names:
        return kind.names[name]
    if name.isalpha() and name[:3] in kind.names:
        raise kind.refuse(item, RefusalCode.LONG_NAME, name=name[:3])
    if name == "R":
        raise kind.refuse(item, RefusalCode.RANDOM)
    raise _unreadable(kind, item)


def _range_end(kind: FieldKind, item: str, first: str, last: str) -> int:
    low, high = _value(kind, item, first), _value(kind, item, last)
    if low == high:
        raise kind.refuse(item, RefusalCode.ONE_VALUE_RANGE, fix=first.upper())
    if low > high:
        wrapped = [*range(low, kind.high + 1), *range(kind.low, high + 1)]
        step = _step(kind, item, item.partition("/")[2] or None)
        fix = _runs(kind, wrapped[::step], as_names=not first.isdigit())
        raise kind.refuse(item, RefusalCode.WRAPS_AROUND, fix=fix)
    return high


def _runs(kind: FieldKind, values: list[int], *, as_names: bool) -> str:
    """Spell a list of values with ranges for three or more in a row."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    names = {number: name for name, number in kind.names.items()} if as_names else {}
    spelt = []
    for run in runs:
        texts = [names.get(value, str(value)) for value in run]
        spelt.append(",".join(texts) if len(run) < 3 else f"{texts[0]}-{texts[-1]}")
    return ",".join(spelt)


def _special_day(kind: FieldKind, item: str) -> SpecialDay | None:
    if kind is DAY_OF_MONTH:
        return _special_day_of_month(item)
    if kind is DAY_OF_WEEK:
        return _special_day_of_week(item)
    return None


def _special_day_of_month(item: str) -> SpecialDay | None:
    text = item.upper()
    if text in ("L", "LW"):
        return SpecialDay(LAST, workday=text == "LW")
    if match := _NEAREST.fullmatch(text):
        return SpecialDay(_value(DAY_OF_MONTH, item, match[1]), workday=True)
    return None


def _special_day_of_week(item: str) -> SpecialDay | None:
    kind, text = DAY_OF_WEEK, item.upper()
    if text == "L":
        raise kind.refuse(item, RefusalCode.LAST_WEEKDAY)
    if match := _NTH.fullmatch(text):
        if match[2] not in ("1", "2", "3", "4", "5"):
            raise kind.refuse(item, RefusalCode.NTH_WEEKDAY)
        return SpecialDay(int(match[2]), _value(kind, item, match[1]) % kind.size)
    if match := _LAST.fullmatch(text):
        return SpecialDay(LAST, _value(kind, item, match[1] or match[2]) % kind.size)
    return None


def _spell(day: SpecialDay) -> str:
    if day.weekday is not None:
        return f"L{day.weekday}" if day.nth == LAST else f"{day.weekday}#{day.nth}"
    return ("L" if day.nth == LAST else str(day.nth)) + ("W" if day.workday else "")


def _resolve_hash(kind: FieldKind, item: str, hash_id: str | None) -> str:
    low, high, step = _hash_range(kind, item)
    if hash_id is None:
        raise kind.refuse(item, RefusalCode.HASH_WITHOUT_ID)
    if step is None:
        return str(hashed_value(hash_id, kind.name, low, high))
    start = hashed_value(hash_id, kind.name, low, min(low + step - 1, high))
    return str(start) if start + step > high else f"{start}-{high}/{step}"


def _hash_range(kind: FieldKind, item: str) -> tuple[int, int, int | None]:
    """Return the lowest and the highest that an ``H`` may pick, and its step if it has one."""
    match = _HASHED.fullmatch(item.upper())
    if match is None:
        raise kind.refuse(item, RefusalCode.MISSPELT_HASH)
    low, high = kind.low, kind.hash_high
    if match["low"] is not None:
        low = _value(kind, item, match["low"])
        high = _range_end(kind, item, match["low"], match["high"])
    step = _step(kind, item, match["step"])
    return low, high, None if match["step"] is None else step


def _unreadable(kind: FieldKind, item: str) -> InvalidCronExpression:
    if not item:
        return kind.refuse(item, RefusalCode.MISSING_VALUE)
    return kind.refuse(item, RefusalCode.NOT_UNDERSTOOD, bounds=kind.bounds)
