"""Locking rows that nobody else has locked."""

from __future__ import annotations

from typing import TypeVar

from django.db import connections
from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def free(rows: QuerySet[M]) -> QuerySet[M]:
    """Return ``rows`` to be locked as they are read, without those in somebody else's hands.

    A transaction left open at a prompt must not hold up the scheduler. Where the database cannot
    pass over locked rows, they are waited for; where it has no row locks, the transaction is alone.
    """
    features = connections[rows.db].features
    if not features.has_select_for_update:
        return rows
    return rows.select_for_update(skip_locked=features.has_select_for_update_skip_locked)
