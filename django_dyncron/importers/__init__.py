"""Cron jobs from elsewhere, and from documents.

Each of the ``sources`` reads what it finds into ``entries`` with the columns of a cron job, and
tells how it would run them itself. The ``plan`` holds that against what is there, ``comparing``
against what the scheduler will do; ``writing`` carries it out as a whole or not at all, and
``report`` tells of it.
"""

from __future__ import annotations

from .entries import Source, SourceError
from .plan import Choices, ImportPlan
from .writing import carry_out

__all__ = ["Choices", "ImportPlan", "Source", "SourceError", "carry_out"]
