"""Django signals of what becomes of cron jobs: one a fact, sent after the fact is in the database.

A scheduler sends them in the thread of its event loop, a worker of a queue sends those of its runs
where it runs them; see the reference. What a receiver raises is logged and harms nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.dispatch import Signal

__all__ = [
    "delivery_failed",
    "job_broken",
    "lock_failed",
    "run_enqueued",
    "run_failed",
    "run_late",
    "run_lost",
    "run_started",
    "run_succeeded",
    "slots_skipped",
    "step_failed",
    "tick_done",
    "tick_failed",
]


class DyncronSignal(Signal):
    """A signal whose receivers are plain functions: it may be sent within an event loop."""

    def connect(
        self,
        receiver: Callable[..., Any],
        sender: object | None = None,
        weak: bool = True,
        dispatch_uid: Hashable | None = None,
    ) -> None:
        """Connect ``receiver``; raise :class:`TypeError` for a coroutine function."""
        if iscoroutinefunction(receiver):
            name = getattr(receiver, "__qualname__", repr(receiver))
            raise TypeError(
                f"{name} is a coroutine function, which cannot receive this signal. Connect a "
                "plain one that does not block, or that hands its work to a thread or a queue."
            )
        super().connect(receiver, sender=sender, weak=weak, dispatch_uid=dispatch_uid)

    def has_listeners(self, sender: object | None = None) -> bool:
        """Tell whether anybody listens; without taking a lock where nobody ever did."""
        return bool(self.receivers) and super().has_listeners(sender)


# --- sent by a scheduler --------------------------------------------------------------------------

run_enqueued = DyncronSignal()
"""A queue took a run: ``run`` (:class:`Run`), ``at``, ``task_id``, ``lateness`` (timedelta)."""

run_late = DyncronSignal()
"""A run was enqueued, but later than ``LATE_AFTER_SECONDS``: ``run``, ``at``, ``lateness``."""

delivery_failed = DyncronSignal()
"""A run could not be handed over and is tried again: ``run``, ``error``, ``retry_at``."""

run_lost = DyncronSignal()
"""The process that ran it died, or did not stop in time: ``run`` (:class:`CurrentRun`)."""

slots_skipped = DyncronSignal()
"""Slots were recorded as skipped: ``job_id``, ``reason``, ``first``, ``last``, ``count``."""

job_broken = DyncronSignal()
"""A job cannot be planned until somebody mends it: ``job_id``, ``error``."""

tick_done = DyncronSignal()
"""A tick went well: ``result`` (:class:`TickResult`)."""

tick_failed = DyncronSignal()
"""A tick ended in an error and is tried again: ``error`` (the exception), ``retry_in``."""

lock_failed = DyncronSignal()
"""The lock provider could not answer: ``error``, ``decision``."""

step_failed = DyncronSignal()
"""Something beside the runs went wrong and is tried again: ``step``, ``error``."""

# --- sent where a run is executed: by a worker, or by a scheduler with local tasks ----------------

run_started = DyncronSignal()
"""A run begins, for the first time: ``run`` (:class:`CurrentRun`)."""

run_succeeded = DyncronSignal()
"""A run ended well: ``run`` (:class:`CurrentRun`)."""

run_failed = DyncronSignal()
"""A run is over and did not end well: ``run`` (:class:`CurrentRun`), ``error``, ``status``.

Sent by a scheduler, too, for what could not be handed over.
"""
