"""What a sync would do, row by row: worked out first, then written or only told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError

from ..job_checks import fault_words
from ..models import CronJob, Origin
from ..stored_values import same
from .merging import FieldChange, from_json, merge, to_json

PRUNED = "No longer declared in code."
"""The reason of the pause when a vanished job is pruned."""

_MAKERS = {Origin.HAND: "made by hand", Origin.IMPORT: "imported"}


class Action(StrEnum):
    """What a line of the report tells."""

    CREATED = "created"
    UPDATED = "updated"
    ADOPTED = "adopted"
    RETURNED = "returned"
    """It had vanished and is declared again."""
    CONFLICT = "conflict"
    """The row was edited, and the code wants it otherwise."""
    TAKEN = "taken"
    """The code has not made the row with this job id."""
    PAUSED = "paused"
    """It was pruned and is declared again: whoever runs it says when it starts again."""
    VANISHED = "vanished"
    PRUNED = "pruned"


_OPEN = (Action.CONFLICT, Action.TAKEN, Action.PAUSED)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the report about one job."""

    job_id: str
    action: Action
    fields: Sequence[FieldChange] = ()
    note: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it takes a person to settle it: what vanished does while it runs."""
        return self.action in _OPEN or (self.action is Action.VANISHED and bool(self.note))


@dataclass(frozen=True, slots=True)
class Step:
    """A row to create or, with these ``values``, to change, and what to tell of it.

    Without values it is left as it is.
    """

    row: CronJob
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[Line] = ()
    is_new: bool = False

    @property
    def writes(self) -> bool:
        return self.is_new or bool(self.values)


@dataclass(frozen=True, slots=True)
class Declared:
    """The clean row that the code asks for, and the ``fields`` that it writes down."""

    row: CronJob
    fields: Collection[str]

    def values(self) -> dict[str, Any]:
        return {name: getattr(self.row, name) for name in self.fields}


@dataclass(frozen=True, slots=True)
class Choices:
    """What whoever syncs decides: ``source`` is the name of this code base.

    Of the jobs in ``adopt`` the row is taken over, of those in ``take_code`` every conflict is
    settled for the code; ``prune`` pauses what vanished.
    """

    source: str = ""
    adopt: Collection[str] = ()
    take_code: Collection[str] = ()
    prune: bool = False


def make_plan(
    declared: Iterable[Declared], rows: Iterable[CronJob], choices: Choices
) -> list[Step]:
    """Return a step for each declared job and each vanished one, in order of job id."""
    by_id = {row.job_id: row for row in rows}
    steps = [
        _create(each, choices)
        if (row := by_id.pop(each.row.job_id, None)) is None
        else _meet(each, row, choices)
        for each in declared
    ]
    left = [row for row in by_id.values() if row.origin == Origin.CODE]
    steps += [_let_go(row, choices) for row in left if _source_of(row) in (None, choices.source)]
    return in_order(steps)


def in_order(steps: Iterable[Step]) -> list[Step]:
    """Return ``steps`` in order of job id."""
    return sorted(steps, key=lambda step: step.row.job_id)


def _create(declared: Declared, choices: Choices) -> Step:
    row = copy(declared.row)
    row.origin = Origin.CODE.value
    row.declaration = _declaration(declared.values(), choices)
    note = "" if row.is_active else "paused, as it is declared"
    return Step(row, lines=[Line(row.job_id, Action.CREATED, note=note)], is_new=True)


def _meet(declared: Declared, row: CronJob, choices: Choices) -> Step:
    """Return what becomes of a row that is there already."""
    if row.origin == Origin.CODE and _source_of(row) in (None, choices.source):
        return _update(declared, row, choices)
    if row.job_id not in choices.adopt:
        maker = _MAKERS.get(Origin(row.origin)) if row.origin in list(Origin) else None
        maker = maker or f'declared by the code base "{_source_of(row) or ""}"'
        return Step(row, lines=[Line(row.job_id, Action.TAKEN, note=f"the row is {maker}")])
    merged = merge(row, {}, declared.values(), takes_code=True)
    values = {change.name: change.new for change in merged.updates} | {
        "origin": Origin.CODE.value,
        "declaration": _declaration(merged.remembered, choices),
        "has_vanished": False,
    }
    note = "" if row.is_active else "it stays paused"
    return Step(row, values, [Line(row.job_id, Action.ADOPTED, merged.updates, note)])


def _update(declared: Declared, row: CronJob, choices: Choices) -> Step:
    base = _base_of(row)
    takes_code = row.job_id in choices.take_code
    merged = merge(row, from_json(base), declared.values(), takes_code=takes_code)
    values: dict[str, Any] = {change.name: change.new for change in merged.updates}
    declaration = _declaration(merged.remembered, choices)
    if not same(row.declaration, declaration):
        values["declaration"] = declaration
    lines = []
    if row.has_vanished:
        values["has_vanished"] = False
        lines.append(Line(row.job_id, Action.RETURNED))
    if merged.updates:
        lines.append(Line(row.job_id, Action.UPDATED, merged.updates))
    if merged.conflicts:
        note = _faults(row, values)
        lines.append(Line(row.job_id, Action.CONFLICT, merged.conflicts, note))
    if not row.is_active and row.pause_reason == PRUNED:
        note = "it was pruned and is declared again"
        lines.append(Line(row.job_id, Action.PAUSED, note=note))
    if values and not lines:
        # Somebody has made the row so before the code asked for it.
        lines.append(Line(row.job_id, Action.UPDATED, note="the row was so already"))
    return Step(row, values, lines)


def _let_go(row: CronJob, choices: Choices) -> Step:
    """Return what becomes of a row that nobody declares any more."""
    values: dict[str, Any] = {} if row.has_vanished else {"has_vanished": True}
    if not row.is_active:
        # Told once: it does no harm.
        return Step(row, values, [Line(row.job_id, Action.VANISHED)] if values else [])
    if choices.prune:
        values |= {"is_active": False, "pause_reason": PRUNED}
        return Step(row, values, [Line(row.job_id, Action.PRUNED)])
    return Step(row, values, [Line(row.job_id, Action.VANISHED, note="it still runs")])


def _faults(row: CronJob, values: Mapping[str, Any]) -> str:
    """Say what is wrong with a row in which the code's fields and edited ones have met."""
    merged = copy(row)
    for name, value in values.items():
        setattr(merged, name, value)
    try:
        merged.clean_fields()
    except ValidationError as error:
        return f"as it stands now it is wrong: {' '.join(fault_words(error))}"
    except Exception as error:  # whatever SQL has put there
        return f"as it stands now it is wrong: {type(error).__name__}"
    return ""


def _declaration(fields: Mapping[str, Any], choices: Choices) -> dict[str, Any]:
    return {"source": choices.source, "fields": to_json(fields)}


def _base_of(row: CronJob) -> Mapping[str, Any]:
    kept = row.declaration
    fields = kept.get("fields") if isinstance(kept, dict) else None
    return fields if isinstance(fields, dict) else {}


def _source_of(row: CronJob) -> str | None:
    """Return the code base that declared a row; ``None`` if somebody has written over that."""
    source = row.declaration.get("source") if isinstance(row.declaration, dict) else None
    return source if isinstance(source, str) else None
