"""Declared jobs as rows: held to the rules of the form, each value as its column would keep it.

Unlike its neighbours this needs Django, and is imported by what needs it, too.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import DateTimeField

from ..core.text import one_line
from ..job_checks import fault_words
from ..models import CronJob
from .jobs import DeclaredJob

OBJECTS = ("payload", "options")
MOMENTS = ("starts_at", "ends_at")


def row_of(job: DeclaredJob) -> CronJob:
    """Return the row that ``job`` asks for, not saved.

    Raises :class:`ValidationError` by field for whatever the form would refuse, and for a moment
    without a time zone.
    """
    values = job.values()
    for name in OBJECTS:
        if name in values:
            values[name] = _as_json(values[name])
    _refuse_nothing(values)
    _refuse_naive_moments(values)
    row = CronJob(**values)
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError:
        raise
    except Exception as error:  # a declaration may hold anything, an enqueuer be anybody's code
        raise ValidationError(one_line(error, with_type=True)) from error
    for name in values:
        value = getattr(row, name)
        if isinstance(value, str):
            # A member of an enumeration is written as the text it stands for.
            setattr(row, name, str.__str__(value))
    return row


def faults_of(job: DeclaredJob) -> list[str]:
    """Return what is wrong with ``job``, the field first; empty if nothing is."""
    try:
        row_of(job)
    except ValidationError as error:
        return fault_words(error)
    return []


def _as_json(value: Any) -> Any:
    """Return ``value`` as it comes back from a JSON column: with lists for tuples, for instance."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return value  # which validation refuses


def _refuse_nothing(values: dict[str, Any]) -> None:
    """Raise for a ``None`` that no column keeps: validation passes over it where "" may stand."""
    faults = {
        column.name: str(column.error_messages["null"])
        for column in CronJob._meta.concrete_fields
        if not column.null and column.name in values and values[column.name] is None
    }
    if faults:
        raise ValidationError(faults)


def _refuse_naive_moments(values: dict[str, Any]) -> None:
    """Raise for a moment that would mean another one wherever the code is deployed."""
    faults = {}
    for name in MOMENTS:
        moment = values.get(name)
        if isinstance(moment, str):
            try:
                moment = DateTimeField().to_python(moment)
            except ValidationError:
                continue  # said by its field
        is_aware = isinstance(moment, datetime) and moment.utcoffset() is not None
        if isinstance(moment, date) and not is_aware:
            faults[name] = f"{moment} has no time zone: pass an aware datetime."
    if faults:
        raise ValidationError(faults)
