"""Jobs declared in code and the rows of the table: one made from the other, edits left alone.

``merging`` compares a row with what the code asks for, ``plan`` decides what becomes of each row,
``writing`` does it and ``report`` tells of it.
"""

from __future__ import annotations

from .plan import Action, Choices
from .report import SyncReport
from .writing import SyncRefused, default_source, sync_jobs

__all__ = ["Action", "Choices", "SyncRefused", "SyncReport", "default_source", "sync_jobs"]
