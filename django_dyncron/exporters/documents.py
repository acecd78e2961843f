"""Cron jobs as a JSON document, which ``dyncron_import`` reads back without a loss."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ..core.text import iso_utc
from ..importers.sources.documents import FORMAT, REQUIRED, VERSION, document_fields
from ..models import CronJob


def write_json(jobs: Iterable[CronJob]) -> str:
    """Return a document of ``jobs``; what a column holds by default is left out.

    Times are in UTC. What the scheduler keeps of a job (when it ran, what went wrong) is not in it.
    """
    document = {"format": FORMAT, "version": VERSION, "jobs": [_as_json(job) for job in jobs]}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _as_json(job: CronJob) -> dict[str, Any]:
    return {
        name: _plain(getattr(job, name))
        for name, field in document_fields().items()
        if name in REQUIRED or getattr(job, name) != field.get_default()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso_utc(value)
    return value
