"""Every error django-dyncron raises on purpose, one base above them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class DyncronError(Exception):
    """Base of all errors raised by django-dyncron."""


class InvalidCronExpression(DyncronError, ValueError):
    """An expression, or its time zone or clock-change policy, that cannot be scheduled.

    ``field`` names the part at fault (``"minute"``, ``"hour"``, ``"day_of_month"``, ``"month"``,
    ``"day_of_week"``, ``"expression"``, ``"time_zone"``, ``"dst_gap"`` or ``"dst_fold"``) and
    ``value`` is that part as it was typed. The message says what to write instead. ``code`` is
    a :class:`~django_dyncron.core.refusals.RefusalCode`, and ``params`` are the values named there;
    both are empty if the error was made elsewhere.
    """

    def __init__(
        self,
        message: str,
        *,
        field: str = "expression",
        value: str = "",
        code: str = "",
        params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.field = field
        self.value = value
        self.code = code
        self.params: Mapping[str, Any] = dict(params or {})


class UnknownTimeZone(InvalidCronExpression):
    """A time zone name that the installed time zone database does not hold."""

    def __init__(
        self,
        message: str,
        *,
        value: str = "",
        code: str = "",
        params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, field="time_zone", value=value, code=code, params=params)


class LockError(DyncronError):
    """A lock could be neither taken nor refused: the lock store is away or is misused."""


class StoreUnavailable(DyncronError):
    """The repository's database is away or asked for a retry; nothing was half-done."""


class RunNotStarted(DyncronError):
    """A worker could not find out whether its run had started before, so it did not start it."""


class EnqueueError(DyncronError):
    """A task was not accepted by its queue, or nobody knows whether it was.

    Raise this when the outcome is uncertain (a time-out, a lost connection): the run is retried
    with the same run id, unless the job asks for at most one delivery.
    """


class EnqueueNotSent(EnqueueError):
    """The task certainly did not reach the queue: it is safe to try again, whatever the promise."""


class EnqueueRefused(EnqueueError):
    """The task can never be accepted as it stands (unknown, not allowed, wrong arguments or queue).

    Trying again is pointless, so the run fails at once. ``field`` names the column at fault:
    ``"task_name"``, ``"payload"``, ``"queue"`` or ``"options"``.
    """

    def __init__(self, message: str, *, field: str = "task_name") -> None:
        super().__init__(message)
        self.field = field
