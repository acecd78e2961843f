"""Three sides of a cron job: its row, what the code asked for last time, and what it asks for now.

A field follows the code as long as nobody edits the row. Whoever does is right until somebody
decides otherwise. Nothing here touches a database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..models import CronJob
from ..registry.declarations import MOMENTS
from ..registry.jobs import POLICIES
from ..stored_values import same

_COLUMNS = {
    column.name: column
    for column in CronJob._meta.concrete_fields
    if column.name in {"task_name", "cron_expression", "payload", "queue"} | POLICIES
    and column.name != "is_active"
}
FIELDS = tuple(_COLUMNS)
"""What follows the code. Whether a job is active is for those who run it to say."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of a row, as it is and as the code wants it."""

    name: str
    old: Any
    new: Any


@dataclass(slots=True)
class Merge:
    """What becomes of a row: fields to write, fields in conflict, and what to remember."""

    updates: list[FieldChange] = field(default_factory=list)
    conflicts: list[FieldChange] = field(default_factory=list)
    remembered: dict[str, Any] = field(default_factory=dict)


def merge(
    row: CronJob,
    base: Mapping[str, Any],
    declared: Mapping[str, Any],
    *,
    takes_code: bool = False,
) -> Merge:
    """Compare ``row`` with ``base``, as it was last synced, and with what is ``declared`` now.

    A field that is not written down in either is not the code's. What was not written down last
    time counts as the default of its column, and so does what no longer is. ``takes_code`` settles
    every conflict for the code.
    """
    merged = Merge()
    for name in FIELDS:
        if name in declared:
            _follow(merged, row, base, name, declared[name], takes_code)
        elif name in base and same(getattr(row, name), base[name]):
            # No longer written down. Were it edited, it would be the editor's from now on.
            _update(merged, row, name, _default(name))
    return merged


def _follow(
    merged: Merge, row: CronJob, base: Mapping[str, Any], name: str, wanted: Any, takes_code: bool
) -> None:
    current = getattr(row, name)
    was_edited = not same(current, base[name] if name in base else _default(name))
    if same(current, wanted) or not was_edited or takes_code:
        _update(merged, row, name, wanted)
        merged.remembered[name] = wanted
        return
    merged.conflicts.append(FieldChange(name, current, wanted))
    if name in base:
        # Kept, so that putting the row back ends the conflict, too.
        merged.remembered[name] = base[name]


def _update(merged: Merge, row: CronJob, name: str, wanted: Any) -> None:
    current = getattr(row, name)
    if not same(current, wanted):
        merged.updates.append(FieldChange(name, current, wanted))


def to_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row's fields as JSON can keep them."""
    return {
        name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
    }


def from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what :func:`to_json` was given."""
    return {name: _moment(value) if name in MOMENTS else value for name, value in values.items()}


def _moment(value: Any) -> Any:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value


def _default(name: str) -> Any:
    return _COLUMNS[name].get_default()
