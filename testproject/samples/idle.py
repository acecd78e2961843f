"""An observer that notices when everything due has been run."""

from __future__ import annotations

from collections.abc import Callable

from django_dyncron.core.events import Event, RunEnqueued, RunFailed, RunFinished, TickResult


class IdleWatch:
    """Calls ``on_idle`` once nothing is due and each claimed run was started or handed over.

    A scheduler that stops then still waits for the runs it has started.
    """

    def __init__(self, on_idle: Callable[[], object]) -> None:
        self.begun: set[str] = set()
        """Ids of the runs that were started, handed over or refused."""
        self._on_idle = on_idle
        self._claimed = 0
        self._is_due = True

    def __call__(self, event: Event) -> None:
        if isinstance(event, TickResult):
            self._claimed += event.claimed
            self._is_due = event.next_due_at is not None and event.next_due_at <= event.at
        elif isinstance(event, RunEnqueued | RunFinished | RunFailed):
            self.begun.add(str(event.run.run_id))
        if not self._is_due and len(self.begun) >= self._claimed:
            self._on_idle()
