"""Jobs from elsewhere: one source, one file; what they have in common is the plan.

A source reads what it finds into entries, each with the columns of a cron job, and tells how it
would run them itself. The plan compares that with what is there and with what the scheduler will
do, and is then carried out as a whole or not at all.
"""

from __future__ import annotations

from .entries import CannotImport, Entry, LeftOut, Source, SourceError
from .plan import Choices, ImportPlan, make_plan
from .writing import carry_out

__all__ = [
    "CannotImport",
    "Choices",
    "Entry",
    "ImportPlan",
    "LeftOut",
    "Source",
    "SourceError",
    "carry_out",
    "make_plan",
]
