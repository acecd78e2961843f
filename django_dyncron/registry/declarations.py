"""Declared jobs as rows: held to the rules of the form, each value as its column would keep it.

Unlike its neighbours this needs Django, and is imported by what needs it, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import CharField, Field, TextField
from django.utils.functional import Promise

from ..core.text import one_line, printable, storable
from ..job_checks import fault_words
from ..models import CronJob
from .jobs import DeclaredJob

OBJECTS = ("payload", "options")
MOMENTS = ("starts_at", "ends_at")


@dataclass(frozen=True, slots=True)
class Examined:
    """A declared job and the ``row`` that it asks for, not saved.

    ``faults`` are what the form would refuse, besides moments without a time zone and job ids that
    are declared twice: each a line, the field first. With any the row is not to be used.
    """

    job: DeclaredJob
    row: CronJob
    faults: Sequence[str]

    @property
    def name(self) -> str:
        """Return the job id, fit for a line."""
        return printable(str(self.job.job_id))


def examine(jobs: Iterable[DeclaredJob]) -> list[Examined]:
    """Return each of ``jobs`` with its row and all that is wrong with it."""
    by_id: dict[str, list[DeclaredJob]] = {}
    examined = [(job, *_row_and_faults(job)) for job in jobs]
    for job, _, _ in examined:
        by_id.setdefault(_text(job.job_id), []).append(job)
    return [
        Examined(job, row, [*map(printable, faults), *_rivals(job, by_id[_text(job.job_id)])])
        for job, row, faults in examined
    ]


def _rivals(job: DeclaredJob, declared: Iterable[DeclaredJob]) -> list[str]:
    others = dict.fromkeys(other.task_name for other in declared if other is not job)
    return [f"job_id: It is declared by {', '.join(others)}, too."] if others else []


def _row_and_faults(job: DeclaredJob) -> tuple[CronJob, list[str]]:
    values = job.values()
    for name in OBJECTS:
        if name in values:
            values[name] = _as_json(values[name])
    faults = _faults_alone(values)
    # Without them, so that what else is wrong can be found.
    row = CronJob(**{name: value for name, value in values.items() if name not in faults})
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        for name, messages in error.message_dict.items():
            faults.setdefault(name, messages)
    except Exception as error:  # a declaration may hold anything, an enqueuer be anybody's code
        faults[NON_FIELD_ERRORS] = [one_line(error, with_type=True)]
    for name in values:
        value = getattr(row, name)
        if isinstance(value, str):
            setattr(row, name, _text(value))
    return row, fault_words(ValidationError(faults)) if faults else []


def _faults_alone(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what the columns cannot take, by name; some of it full_clean() would pass over."""
    return {
        column.name: [fault]
        for column in CronJob._meta.concrete_fields
        if column.name in values and (fault := _fault(column, values[column.name]))
    }


def _fault(column: Field[Any, Any], value: Any) -> str:
    if value is None:
        # Validation passes over it where "" may stand.
        return "" if column.null else str(column.error_messages["null"])
    if isinstance(column, CharField | TextField):
        return _fault_of_text(value)
    try:
        # A date is no moment, though the column would make one of it.
        moment = value if isinstance(value, date) else column.to_python(value)
    except ValidationError as error:
        return " ".join(error.messages)
    except Exception as error:  # infinity is no integer, for one
        return one_line(error, with_type=True)
    return _fault_of_moment(moment) if column.name in MOMENTS else ""


def _fault_of_text(value: Any) -> str:
    if not isinstance(value, str | Promise):
        return f"This must be a text, not {type(value).__name__}."
    text = _text(value)
    if storable(text) != text:
        return "There is a NUL or half a character in it; no database keeps that."
    return ""


def _fault_of_moment(moment: Any) -> str:
    """Say if it would be another moment wherever the code is deployed."""
    is_aware = isinstance(moment, datetime) and moment.utcoffset() is not None
    if isinstance(moment, date) and not is_aware:
        return f"{moment} has no time zone: pass an aware datetime."
    return ""


def _text(value: Any) -> str:
    """Return a text as a column keeps it: a member of an enumeration as what it stands for."""
    return str.__str__(value) if isinstance(value, str) else str(value)


def _as_json(value: Any) -> Any:
    """Return ``value`` as it comes back from a JSON column: with lists for tuples, for instance."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return value  # which validation refuses
