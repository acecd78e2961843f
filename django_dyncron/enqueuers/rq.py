"""RQ: by the queues of django-rq, or by the URL of a Redis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import getclosurevars
from threading import Lock
from types import FunctionType
from typing import Any
from uuid import uuid4

from rq import Queue, Retry
from rq.decorators import job as job_decorator
from rq.queue import EnqueueData

from ..context import CurrentRun
from ..core.definitions import Run
from ..core.exceptions import EnqueueRefused
from ..core.phrases import Phrase, gettext_noop
from ..registry import bind_payload
from ._broker import BrokerTaskEnqueuer
from ._options import Reader, read_options, text, whole, yes_or_no
from ._rq_queues import Queues, QueuesAt, QueuesOfDjangoRq, enqueue
from .rq_worker import META_KEY, enqueue_method, find_task

_FUNCTION = "django_dyncron.enqueuers.rq_worker.run_task"
_LONGEST = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True)
class _Message:
    job_id: str
    queue: str
    data: EnqueueData


class RqTaskEnqueuer(BrokerTaskEnqueuer[_Message]):
    """Hands tasks to RQ, inside a function of this package that its workers run.

    Without ``url`` the queues are those that django-rq finds in ``RQ_QUEUES``. With the ``url`` of
    a Redis, a queue is any name or one of ``queues``; ``serializer`` is the dotted path of one, the
    same as that of the workers, and ``None`` is RQ's default, pickle; ``default_timeout`` is how
    many seconds a job may take, by default RQ's 180.

    Raises :class:`ValueError` for arguments that make no sense, and :class:`ImportError` if
    django-rq is to be used and is not installed.
    """

    refuses_repeated_ids = True

    def __init__(
        self,
        url: str | None = None,
        *,
        queues: Sequence[str] | None = None,
        serializer: str | None = None,
        default_timeout: int | None = None,
    ) -> None:
        super().__init__()
        self._opened: dict[str, Queue] = {}
        self._lock = Lock()
        if url is not None:
            self._queues: Queues = QueuesAt(url, queues, serializer, default_timeout)
        elif queues is None and serializer is None and default_timeout is None:
            self._queues = QueuesOfDjangoRq()
        else:
            raise ValueError("queues, serializer and default_timeout need a url.")

    @property
    def lacks_workers(self) -> str:
        """What keeps other processes from running the tasks; blank if nothing does."""
        return self._queues.lacks_workers()

    def prepare(
        self, task_name: str, payload: dict[str, Any], queue: str, run: Run | None = None
    ) -> _Message:
        function = find_task(task_name)
        bind_payload(function, payload)
        known = self._queues.names()
        if known is not None and queue not in known:
            message = gettext_noop("RQ has no queue %(queue)r: use one of %(known)s.")
            values = {"queue": queue, "known": ", ".join(sorted(known))}
            raise EnqueueRefused(Phrase(message, values), field="queue")
        options = {
            "description": f"{task_name}(...)",
            "result_ttl": self._queues.result_ttl(queue),
            **_declared_options(function),
            **read_options("rq", run.options if run else {}, _OPTIONS),
        }
        if run is not None:
            identity = {META_KEY: CurrentRun.of(run).as_json()}
            options["meta"] = options.get("meta", {}) | identity
        job_id = str(run.run_id if run else uuid4())
        arguments = {"task_name": task_name, "payload": payload}
        data = Queue.prepare_data(_FUNCTION, kwargs=arguments, job_id=job_id, **options)
        return _Message(job_id, queue, data)

    def task_url(self, task_id: str, queue: str) -> str | None:
        return self._queues.page(queue, task_id)

    def check_options(self, options: Mapping[str, Any]) -> None:
        read_options("rq", options, _OPTIONS)

    def send(self, messages: Sequence[_Message]) -> Iterator[str | Exception]:
        by_queue: dict[str, dict[str, EnqueueData]] = {}
        for message in messages:
            by_queue.setdefault(message.queue, {})[message.job_id] = message.data
        errors: dict[str, Exception] = {}
        for name, jobs in by_queue.items():
            errors |= enqueue(self._queue(name), jobs)
        for message in messages:
            yield errors.get(message.job_id, message.job_id)

    async def aclose(self) -> None:
        await super().aclose()
        for queue in self._opened.values():
            queue.connection.close()

    def _queue(self, name: str) -> Queue:
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._queues.open(name)
            return self._opened[name]


_DECLARED = (
    *("timeout", "result_ttl", "ttl", "failure_ttl", "at_front", "retry", "meta", "description"),
    *("on_success", "on_failure", "on_stopped", "webhooks"),
)


@lru_cache(maxsize=1024)
def _declared_options(function: Any) -> Mapping[str, Any]:
    """Return what RQ's decorator was told about the jobs of ``function``, but for the queue.

    RQ keeps that only in the closure of what the decorator adds. If a release should keep it
    elsewhere, nothing is declared and the queue's defaults apply.
    """
    enqueue = enqueue_method(function)
    if not isinstance(enqueue, FunctionType):
        return {}
    decorator = getclosurevars(enqueue).nonlocals.get("self")
    if not isinstance(decorator, job_decorator):
        return {}
    values = {name: getattr(decorator, name, None) for name in _DECLARED}
    return {name: value for name, value in values.items() if value is not None}


def _kept(value: Any) -> int:
    """Read a number of seconds, of which -1 means for ever."""
    return _or_minus_one(value, 0)


def _limit(value: Any) -> int:
    """Read a number of seconds, of which -1 means that there is no limit."""
    return _or_minus_one(value, 1)


def _or_minus_one(value: Any, least: int) -> int:
    if type(value) is int and value == -1:
        return value
    try:
        return int(whole(least, _LONGEST)(value))
    except ValueError as error:
        message = gettext_noop("%(wanted)s, or -1")
        raise ValueError(Phrase(message, {"wanted": error.args[0]})) from None


def _retry(value: Any) -> Retry:
    """Read how often to try again, or that with the seconds in between."""
    if type(value) is int:
        value = {"max": value}
    try:
        retry = Retry(**value)
        whole(1, 1000)(retry.max)
        for interval in retry.intervals:
            whole(0, _LONGEST)(interval)
        return retry
    except (TypeError, ValueError):
        message = gettext_noop(
            'a number of retries or an object such as {"max": 3, "interval": [10, 60]}'
        )
        raise ValueError(Phrase(message)) from None


def _meta(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or META_KEY in value:
        message = gettext_noop('an object such as {"tenant": "north"}, without %(name)r')
        raise ValueError(Phrase(message, {"name": META_KEY}))
    return value


_OPTIONS: dict[str, Reader] = {
    "timeout": _limit,
    "result_ttl": _kept,
    "failure_ttl": _kept,
    "ttl": whole(1, _LONGEST),
    "at_front": yes_or_no,
    "description": text,
    "retry": _retry,
    "meta": _meta,
}
