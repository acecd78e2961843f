"""The port of a queue, and the journal for one that runs tasks in this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from ..attempts import attempt
from ..definitions import Run
from ..exceptions import EnqueueNotSent
from ..runs import Attempt, Outcome


class IRunJournal(Protocol):
    """How an enqueuer that runs tasks in this process reports on them."""

    async def start(self, run: Run) -> bool:
        """Mark ``run`` as running; ``False`` means somebody else has it: do not call the task."""

    async def finish(self, run: Run, error: str = "") -> None:
        """Mark ``run`` as succeeded or, with an ``error``, as failed."""


class ITaskEnqueuer(ABC):
    """The way into a task queue. ``enqueue_task`` is enough for a queue of your own."""

    refuses_repeated_ids: bool = False
    """Whether the queue refuses a run id it has already seen, while it remembers it."""
    starts_once: bool = False
    """Whether a run is started by moving its row to *running*, which succeeds only once."""
    reports_ends: bool = False
    """Whether the end of a run is told, by its worker or by a pool in this process."""
    sends_batches: bool = False
    """Whether many runs are handed over in one go, or in few."""
    worker_module: str = ""
    """Dotted path of a module that the workers of this queue have to import, if there is one.

    Its function ``set_up_worker``, if it has one, is called with the options of the enqueuer.
    """
    hook_module: str = ""
    """Dotted path of a module that every process has to import as Django starts, if there is one.

    For a queue whose workers look for no ``tasks`` modules.
    """

    @property
    def lacks_workers(self) -> str:
        """What of the queue runs tasks in the scheduler, or not at all; blank if it has workers."""
        return ""

    @abstractmethod
    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> Any:
        """Hand a task to ``queue``; return the queue's id for it, or anything.

        Raise :class:`EnqueueRefused` for what can never work, :class:`EnqueueNotSent` when it
        certainly was not sent, :class:`EnqueueError` when that is not known. Any other exception is
        taken as the last.
        """

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        """Raise :class:`EnqueueRefused` if such a task could never be accepted.

        Asked when a job is saved, in any process; must not touch the network.
        """

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise :class:`EnqueueRefused`, naming ``"options"``, for options of a job that are wrong.

        Asked when a job is saved. By default anything goes: :meth:`enqueue_run` may read them.
        """

    def task_url(self, task_id: str, queue: str) -> str | None:
        """Return the address of a page about a task, as :meth:`enqueue_run` named it, if any.

        Asked for each run that a page of the admin shows; must not touch the network.
        """
        return None

    async def enqueue_run(self, run: Run) -> Any:
        """Hand over ``run`` with its identity; the default forwards to :meth:`enqueue_task`."""
        return await self.enqueue_task(run.task_name, run.payload, run.queue)

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        """Hand over many runs, each isolated from the others; one :class:`Attempt` a run.

        ``may_send`` must be asked before each message leaves: once it returns ``False`` the lease
        is about to end and the rest is left untried.
        """
        return [
            await attempt(self.enqueue_run, run) if may_send() else Attempt(run, Outcome.UNTRIED)
            for run in runs
        ]

    def transaction_alias(self) -> str | None:
        """Return the database alias whose open transaction an enqueue joins, if there is one.

        A queue in the database of the cron jobs is told of a run in the transaction that claims
        it, so that both happen or neither.
        """
        return None

    def enqueue_runs_now(self, runs: Sequence[Run]) -> list[str]:
        """Add ``runs`` to a queue that joins the open transaction; return the queue's ids.

        Called in the database thread, only if :meth:`transaction_alias` names its database. Raises
        as :meth:`enqueue_task` does; the savepoint around the call is then rolled back.
        """
        raise EnqueueNotSent(f"{type(self).__name__} joins no transaction.")

    def bind(self, journal: IRunJournal) -> None:
        """Receive the journal before the first run; only a pool in this process needs it."""

    def in_hand(self) -> Collection[Run]:
        """Return the runs this process has accepted and not finished, so that leases are kept."""
        return ()

    def withdraw(self) -> Sequence[Run]:
        """Start nothing from now on; return the accepted runs that had not begun."""
        return ()

    async def drain(self, grace: timedelta) -> Sequence[Run]:
        """Wait up to ``grace`` for the runs that have begun; return those still executing.

        Called once, after :meth:`withdraw`.
        """
        return ()

    async def aclose(self) -> None:
        """Close what this enqueuer opened. Called once, after :meth:`drain`."""
