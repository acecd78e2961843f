"""The report of a sync, for people and for programs. Of what may be secret only names are told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..registry.declarations import OBJECTS
from . import SyncReport
from .merging import FieldChange, same, to_json
from .planning import Action, Entry

_SECRET = (*OBJECTS, "ping_url")
"""Fields whose values are not told: keys and addresses may be among them."""
_LONGEST = 60

_SUMMARY = {
    Action.CREATED: "created",
    Action.UPDATED: "updated",
    Action.ADOPTED: "adopted",
    Action.RETURNED: "returned",
    Action.CONFLICT: "in conflict",
    Action.TAKEN: "taken",
    Action.PAUSED: "paused",
    Action.VANISHED: "vanished",
    Action.PRUNED: "pruned",
}


def line_of(entry: Entry) -> str:
    """Return ``updated   report: queue: "default" → "slow"``."""
    words = [_told(change, entry.action) for change in entry.fields]
    told = "; ".join([*words, *filter(None, [entry.note])])
    return shown(f"{entry.action:<9} {entry.job_id}{': ' if told else ''}{told}")


def summary_of(report: SyncReport) -> str:
    """Return ``1 created, 2 in conflict, 12 unchanged.``."""
    counts = [
        f"{count} {words}" for action, words in _SUMMARY.items() if (count := report.count(action))
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
    if any(entry.action is Action.VANISHED and entry.note for entry in report.entries):
        yield "--prune pauses what is no longer declared."


def as_json(report: SyncReport, *, source: str, is_dry_run: bool) -> dict[str, Any]:
    """Return the report as one JSON object."""
    return {
        "source": source,
        "dry_run": is_dry_run,
        "in_sync": report.is_in_sync,
        "counts": {
            **{action.value: report.count(action) for action in Action},
            "unchanged": report.unchanged,
        },
        "jobs": [
            {
                "job_id": entry.job_id,
                "action": entry.action.value,
                "fields": {change.name: _as_json(change) for change in entry.fields},
                "note": entry.note,
            }
            for entry in report.entries
        ],
    }


def shown(text: str) -> str:
    """Return ``text`` fit for a terminal, whatever SQL has put into it."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


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
