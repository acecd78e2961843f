"""JSON and YAML documents, as ``dyncron_export`` writes them and as people do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from django.db import models

from ...core.text import one_line, storable
from ...models import CronJob
from ...spelling import did_you_mean
from ..entries import Entry, Source, SourceError

FORMAT = "django-dyncron"
VERSION = 1

REQUIRED = ("job_id", "task_name", "cron_expression")


def document_fields() -> dict[str, models.Field[Any, Any]]:
    """Return the columns that a document holds, by name: those that people write."""
    return {
        each.name: each
        for each in CronJob._meta.concrete_fields
        if each.serialize and not each.primary_key  # type: ignore[attr-defined]
    }


def read_json(text: str) -> Source:
    """Read a JSON document. Raises :class:`SourceError` if it is none of ours."""
    try:
        document = json.loads(text, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"This is no JSON: {error}") from error
    return _read(document, "JSON")


def read_yaml(text: str) -> Source:
    """Read a YAML document of plain values. Raises :class:`SourceError` if it is none of ours."""
    try:
        from ._yaml_loading import YAMLError, load_yaml
    except ImportError as error:
        raise SourceError(
            "Reading YAML needs PyYAML: pip install 'django-dyncron[yaml]', or use JSON."
        ) from error
    try:
        document = load_yaml(text)
    except (YAMLError, ValueError, RecursionError) as error:
        raise SourceError(f"This is no YAML of plain values: {one_line(error)}") from error
    return _read(document, "YAML")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twin!r} stands twice in one object")
    return found


def _read(document: Any, title: str) -> Source:
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise SourceError(f'The document must be an object with "format": "{FORMAT}".')
    version = document.get("version")
    if type(version) is not int:  # True is 1 otherwise
        raise SourceError(f'The document must have its "version", which is {VERSION}.')
    if version != VERSION:
        raise SourceError(
            f"The document has version {version}, and this release reads {VERSION}: upgrade it."
        )
    if unknown := [str(key) for key in document if key not in ("format", "version", "jobs")]:
        hint = did_you_mean(unknown[0], ("format", "version", "jobs"))
        raise SourceError(f"The document has {unknown[0]!r}, which is not known. {hint}".rstrip())
    jobs = document.get("jobs")
    if not isinstance(jobs, list):
        raise SourceError('The document must have a list of "jobs".')
    source = Source(title)
    for number, job in enumerate(jobs, 1):
        _read_job(number, job, source)
    return source


def _read_job(number: int, job: Any, source: Source) -> None:
    if not isinstance(job, Mapping):
        source.faults.append(f"Job {number} is not an object.")
        return
    place, job_id = f"Job {number}", job.get("job_id")
    if isinstance(job_id, str):
        place += f" ({storable(job_id)})"
    faults = [f"{place}: {name} is missing." for name in REQUIRED if name not in job]
    fields = document_fields()
    values = {name: each.get_default() for name, each in fields.items()}
    for name, value in job.items():
        if name not in fields:
            hint = did_you_mean(name, fields)
            faults.append(f"{place}: {name!r} is no column of a job. {hint}".rstrip())
            continue
        try:
            values[name] = _value(fields[name], value)
        except ValueError as error:
            faults.append(f"{place}: {name} must be {error}.")
    source.faults.extend(faults)
    if faults and isinstance(job_id, str):
        source.unread.append(job_id)
    if not faults:
        source.entries.append(Entry(values["job_id"], values, place=place))


def _value(field: models.Field[Any, Any], value: Any) -> Any:
    """Return ``value`` as its column holds it; raise :class:`ValueError` that says what it is."""
    if isinstance(field, models.DateTimeField):
        return None if value is None else _moment(value)
    if isinstance(field, models.JSONField):
        return _plain_object(value)
    if isinstance(field, models.BooleanField):
        return _of_type(bool, value, "true or false")
    if isinstance(field, models.IntegerField):
        if value is None and field.null:
            return None
        return _of_type(int, value, "a whole number")
    text = _of_type(str, value, "a text")
    if storable(text) != text:
        raise ValueError("a text without NUL or half characters, which no database keeps")
    return text


def _of_type(kind: type, value: Any, words: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{words}, not {type(value).__name__}")
    return value


def _plain_object(value: Any) -> dict[str, Any]:
    _of_type(dict, value, "an object")
    try:
        # YAML has dates, sets and keys of any type, which JSON would lose or refuse.
        if json.loads(json.dumps(value, allow_nan=False)) != value:
            raise ValueError
    except (TypeError, ValueError, RecursionError):
        raise ValueError("an object of what JSON can hold; put dates in quotes") from None
    plain: dict[str, Any] = value
    return plain


def _moment(value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("a moment such as 2026-11-01T05:30Z") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        raise ValueError("a moment such as 2026-11-01T05:30Z, not a date")
    if not isinstance(value, datetime):
        raise ValueError("a moment such as 2026-11-01T05:30Z")
    if value.tzinfo is None:
        raise ValueError("a moment with its offset, such as 2026-11-01T05:30Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("a moment between the years 1 and 9999") from None
