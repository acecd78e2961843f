"""The parts a scheduler is assembled from, passed as one to the tick and its upkeep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .clock import StoreTime
from .courier import Courier
from .gate import LockGate
from .observers import Observers
from .planning import PlanningRules
from .ports import Clock
from .pulse import Pulse


@dataclass(frozen=True, slots=True)
class Parts:
    """What every kind of tick works with.

    ``judges_by`` gives the instant to judge by; ``None`` means the store's own clock. Runs older
    than ``retention`` are deleted; ``None`` keeps them.
    """

    courier: Courier
    gate: LockGate | None
    clock: Clock
    time: StoreTime
    judges_by: Callable[[], datetime] | None
    rules: PlanningRules
    key_prefix: str
    replica_id: str
    batch_size: int
    retention: timedelta | None
    observers: Observers
    pulse: Pulse = field(default_factory=Pulse)
