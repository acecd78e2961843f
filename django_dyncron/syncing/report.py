"""The report of a sync, for people and for programs. Of what may be secret only names are told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.text import printable
from ..registry.declarations import OBJECTS
from ..stored_values import same
from .merging import FieldChange, to_json
from .plan import Action, Line, Step

_SECRET = (*OBJECTS, "ping_url")
"""Fields whose values are not told: keys and addresses may be among them."""
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What was done, or would be: ``lines`` in order of job id.

    ``changes`` counts the rows that were written, ``unchanged`` the declared jobs whose rows are as
    the code wants them.
    """

    lines: Sequence[Line]
    changes: int
    unchanged: int

    @property
    def is_in_sync(self) -> bool:
        """Whether nothing was to be done, and nothing is left to a person."""
        return not self.changes and not any(line.is_open for line in self.lines)

    def count(self, action: Action) -> int:
        """Return how many jobs ``action`` is told of."""
        return len({line.job_id for line in self.lines if line.action is action})

    @classmethod
    def of(cls, steps: Sequence[Step]) -> SyncReport:
        """Return the report of ``steps``."""
        return cls(
            lines=[line for step in steps for line in step.lines],
            changes=sum(step.writes for step in steps),
            unchanged=sum(
                not (step.writes or step.lines or step.row.has_vanished) for step in steps
            ),
        )


def in_words(line: Line) -> str:
    """Return ``updated   report: queue: "default" → "slow"``."""
    words = [_told(change, line.action) for change in line.fields]
    told = "; ".join([*words, *filter(None, [line.note])])
    return printable(f"{line.action:<9} {line.job_id}{': ' if told else ''}{told}")


def summary_of(report: SyncReport) -> str:
    """Return ``1 created, 2 in conflict, 12 unchanged.``."""
    counts = [
        f"{count} {'in conflict' if action is Action.CONFLICT else action}"
        for action in Action
        if (count := report.count(action))
    ]
    return ", ".join([*counts, f"{report.unchanged} unchanged"]) + "."


def hints_for(report: SyncReport) -> Iterator[str]:
    """Yield what to do about what is left to a person."""
    if report.count(Action.CONFLICT):
        yield "Edited rows are left as they are. --take-code JOB_ID settles it for the code."
    if report.count(Action.TAKEN):
        yield "--adopt JOB_ID takes over a row that the code has not made."
    if report.count(Action.PAUSED):
        yield "dyncron_resume JOB_ID starts again what was pruned."
    if any(line.action is Action.VANISHED and line.note for line in report.lines):
        yield "--prune pauses what is no longer declared."


def as_json(report: SyncReport, *, source: str, dry_run: bool) -> dict[str, Any]:
    """Return the report as one JSON object."""
    return {
        "source": source,
        "dry_run": dry_run,
        "in_sync": report.is_in_sync,
        "counts": {
            **{action.value: report.count(action) for action in Action},
            "unchanged": report.unchanged,
        },
        "jobs": [
            {
                "job_id": line.job_id,
                "action": line.action.value,
                "fields": {change.name: _as_json(change) for change in line.fields},
                "note": line.note,
            }
            for line in report.lines
        ],
    }


def _told(change: FieldChange, action: Action) -> str:
    if change.name in _SECRET:
        return f"{change.name}: {_keys_told(change)}"
    old, new = _value(change.old), _value(change.new)
    if action is Action.CONFLICT:
        return f"{change.name}: the row has {old}, the code {new}"
    return f"{change.name}: {old} → {new}"


def _keys_told(change: FieldChange) -> str:
    keys = _keys(change)
    told = [f"{words} {', '.join(names)}" for words, names in keys.items() if names]
    return "; ".join(told).join("()") if told else "(not shown)"


def _keys(change: FieldChange) -> dict[str, list[str]]:
    """Return the names of an object's keys by what the code would do to them."""
    old, new = change.old, change.new
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return {}
    return {
        "added": sorted(new.keys() - old.keys()),
        "changed": sorted(key for key in new.keys() & old.keys() if not same(new[key], old[key])),
        "removed": sorted(old.keys() - new.keys()),
    }


def _value(value: Any) -> str:
    text = json.dumps(to_json({"": value})[""], ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _as_json(change: FieldChange) -> Any:
    if change.name in _SECRET:
        return _keys(change)
    return to_json({"old": change.old, "new": change.new})
