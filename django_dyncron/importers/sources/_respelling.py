"""From sets of values to the fields of an expression that name them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...core.fields import DAY_OF_MONTH, DAY_OF_WEEK, FieldKind
from ..entries import CannotImport

_WEEK = 7
_LAST_DAY = 31


def spell(kind: FieldKind, values: Collection[int]) -> str:
    """Return the shortest plain spelling of a field that names just these values."""
    ordered = sorted(values)
    if len(ordered) == kind.size:
        return "*"
    if step := _step_to_end(kind, ordered):
        start = "*" if ordered[0] == kind.low else f"{ordered[0]}-{kind.high}"
        return f"{start}/{step}"
    return ",".join(_ranges(ordered))


def spell_both_days(days: Collection[int], weekdays: Collection[int]) -> tuple[str, str]:
    """Return a day of the month and a day of the week that a date must match *both*.

    Cron wants both only if one of the fields starts with ``*``. That can be had where the weeks of
    the month are meant, where the 1st is among the days or Sunday among the weekdays. Raises
    :class:`CannotImport` elsewhere.
    """
    month, week = spell(DAY_OF_MONTH, days), spell(DAY_OF_WEEK, weekdays)
    if "*" in (month, week):
        return month, week
    if nths := _whole_weeks(set(days)):
        return "*", ",".join(f"{day}#{nth}" for nth in nths for day in sorted(weekdays))
    if starred := _starred(DAY_OF_WEEK, weekdays, _WEEK):
        return month, starred
    if starred := _starred(DAY_OF_MONTH, days, _LAST_DAY):
        return starred, week
    raise CannotImport(
        f"It runs on days that are both '{month}' in the month and '{week}' in the week; by cron's "
        "rule it would run on days that are either, far more often. Choose one of the fields, and "
        "let the task look at the other."
    )


def _step_to_end(kind: FieldKind, ordered: list[int]) -> int:
    """Return the step with which the values run to the end of the field, or 0."""
    if len(ordered) < 3:
        return 0
    step = ordered[1] - ordered[0]
    start = ordered[0]
    is_step = step > 1 and ordered == list(range(start, kind.high + 1, step))
    # Days of the week are few, and a step among them is hard to read.
    return step if is_step and kind is not DAY_OF_WEEK else 0


def _ranges(ordered: list[int]) -> Iterator[str]:
    runs: list[list[int]] = []
    for value in ordered:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    for run in runs:
        yield ",".join(map(str, run)) if len(run) < 3 else f"{run[0]}-{run[-1]}"


def _whole_weeks(days: set[int]) -> list[int]:
    """Return which sevens of the month the days are made of: the 8th to the 14th are the second."""
    weeks = {nth: set(range(nth * 7 - 6, min(nth * 7, _LAST_DAY) + 1)) for nth in range(1, 6)}
    whole = [nth for nth, week in weeks.items() if week <= days]
    return whole if days == set().union(*(weeks[nth] for nth in whole)) else []


def _starred(kind: FieldKind, values: Collection[int], size: int) -> str:
    """Spell a field so that it starts with ``*``; blank if its least value is not among them."""
    if kind.low not in values:
        return ""
    plain = spell(kind, values)
    if plain.startswith("*"):
        return plain
    others = sorted(set(values) - {kind.low})
    # A step as long as the field reaches its least value alone.
    return ",".join([f"*/{size}", *_ranges(others)])
