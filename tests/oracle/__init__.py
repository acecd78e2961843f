"""A slow, obvious second opinion on when a cron expression fires.

It walks every UTC minute, converts it to local time, asks each field, and then applies cron's rule
for clock changes. It shares no code with the product.
"""

from __future__ import annotations

from .expressions import random_expression
from .matching import Expression
from .transitions import transitions
from .walk import WalkedWindow

__all__ = ["Expression", "WalkedWindow", "random_expression", "transitions"]
