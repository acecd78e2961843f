"""Dramatiq as the queue: a broker that the project has set up, by django-dramatiq or by itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import dramatiq
from django.db import close_old_connections
from dramatiq.brokers.stub import StubBroker

from ..context import CurrentRun
from ..core.definitions import Run
from ..core.exceptions import EnqueueNotSent, EnqueueRefused
from ..core.phrases import Phrase, gettext_noop, sentences
from ..core.text import one_line
from ..registry import bind_payload, import_task_module, is_allowed, is_task_module, resolve_task
from ..spelling import did_you_mean
from ._broker import BrokerTaskEnqueuer
from ._options import Reader, read_options, whole, yes_or_no
from .dramatiq_worker import ACTOR, IDENTITY, broker_at, declare_queues, set_up

_WEEK = 7 * 86_400_000
"""In milliseconds, the longest that Dramatiq delays a message."""
_YEAR = 366 * 86_400_000
_READERS: Mapping[str, Reader] = {
    "max_retries": whole(0, 1_000_000),
    "min_backoff": whole(1, _WEEK),
    "max_backoff": whole(1, _WEEK),
    "max_age": whole(1, _YEAR),
    "time_limit": whole(1, _YEAR),
    "notify_shutdown": yes_or_no,
    "store_results": yes_or_no,
    "result_ttl": whole(1, _YEAR),
}
"""Options of Dramatiq's own middleware. Times are in milliseconds, as everywhere in Dramatiq."""
_NAMING_ACTORS = frozenset({"on_success", "on_failure", "on_retry_exhausted"})
_NOT_FOR_JOBS = frozenset({"throws", "retry_when", "pipe_target", "pipe_ignore"})
"""Options that hold classes, functions or other messages."""


class DramatiqTaskEnqueuer(BrokerTaskEnqueuer["dramatiq.Message[Any]"]):
    """Sends messages through a broker of Dramatiq.

    A task name is the name of an actor of that broker or the dotted path of one, which gets the
    payload as it is, or that of a background task, which an actor of this package runs inside the
    worker. The job's queue must be declared on the broker. ``broker`` is the dotted path of a
    broker object; ``None`` is the global one, whichever that is when a message is prepared.

    Raises :class:`ValueError` for a path that leads to no broker.
    """

    sends_batches = False
    worker_module = "django_dyncron.enqueuers.dramatiq_worker"

    def __init__(self, broker: str | None = None) -> None:
        super().__init__()
        self._chosen = None if broker is None else broker_at(broker)

    @property
    def broker(self) -> dramatiq.Broker:
        """The broker that messages go to."""
        return self._chosen or dramatiq.get_broker()

    @property
    def lacks_workers(self) -> str:
        """What keeps other processes from running the tasks; blank if nothing does."""
        return "StubBroker of Dramatiq" if isinstance(self.broker, StubBroker) else ""

    def check_options(self, options: Mapping[str, Any]) -> None:
        _read(options, self.broker)

    def prepare(
        self, task_name: str, payload: dict[str, Any], queue: str, run: Run | None = None
    ) -> dramatiq.Message[Any]:
        broker = self.broker
        set_up(broker)
        actor = _actor(task_name, broker)
        if actor is None:
            bind_payload(_background_task(task_name, broker), payload)
        else:
            _bind(actor, payload)
        _check_queue(queue, broker)
        options: dict[str, Any] = {}
        attributes: dict[str, Any] = {"queue_name": queue}
        if run is not None:
            options = {**_read(run.options, broker), IDENTITY: CurrentRun.of(run).as_json()}
            attributes["message_id"] = str(run.run_id)
        if actor is not None:
            return actor.message_with_options(kwargs=payload, **options).copy(**attributes)
        arguments = {"task_name": task_name, "payload": payload}
        return dramatiq.Message(
            actor_name=ACTOR, args=(), kwargs=arguments, options=options, **attributes
        )

    def send(self, messages: Sequence[dramatiq.Message[Any]]) -> Iterator[str | Exception]:
        broker = self.broker
        _reach(broker)
        try:
            for message in messages:
                try:
                    broker.enqueue(message)
                except Exception as error:
                    yield error
                    # The others may fare better, unless the server is away.
                    _reach(broker)
                else:
                    yield message.message_id
        finally:
            # The project's middleware may use the database here, in a thread that lives on.
            close_old_connections()


def _actor(name: str, broker: dramatiq.Broker) -> dramatiq.Actor[..., Any] | None:
    """Return the actor of this name or dotted path, or ``None`` if there is no such.

    Looked for among the actors of the broker, then only in ``tasks`` modules of installed apps and
    where ``ALLOWED_TASKS`` allows: importing a module is running it.
    """
    if name == ACTOR:
        message = gettext_noop("%(name)r runs other tasks: use the name of one of them.")
        raise EnqueueRefused(Phrase(message, {"name": name}))
    if name in broker.actors:
        return broker.actors[name]
    module_name, _, attribute = name.rpartition(".")
    if not (is_task_module(module_name) or is_allowed(name)):
        return None
    target = getattr(import_task_module(module_name), attribute, None)
    # A class-based actor is an object that hands on what it is asked for.
    actor = getattr(target, "__actor__", target)
    if not isinstance(actor, dramatiq.Actor):
        return None
    if broker.actors.get(actor.actor_name) is not actor:
        message = gettext_noop("%(name)r is an actor of another broker.")
        raise EnqueueRefused(Phrase(message, {"name": name}))
    return actor


def _background_task(name: str, broker: dramatiq.Broker) -> Callable[..., Any]:
    if "." in name:
        return resolve_task(name)
    message = Phrase(gettext_noop("The broker has no actor %(name)r."), {"name": name})
    raise EnqueueRefused(sentences(message, did_you_mean(name, broker.actors)))


def _bind(actor: dramatiq.Actor[..., Any], payload: dict[str, Any]) -> None:
    """Raise :class:`EnqueueRefused` unless ``payload`` fits; a class-based actor has a method."""
    function: Any = actor.fn
    if inspect.isroutine(function):
        bind_payload(function, payload)
    else:
        kind = type(function)
        bind_payload(getattr(kind, "perform", kind.__call__), payload, skip=1)


def _check_queue(queue: str, broker: dramatiq.Broker) -> None:
    """Raise :class:`EnqueueRefused` for a queue that no worker of this broker would read."""
    if not _has_queue(queue, broker):
        # One that a background task suggests, maybe: those are declared when they are asked for.
        declare_queues(broker)
        if not _has_queue(queue, broker):
            known = broker.get_declared_queues() - broker.get_declared_delay_queues()
            message = gettext_noop(
                "The broker has no queue %(queue)r: use one of %(known)s, or declare it."
            )
            values = {"queue": queue, "known": ", ".join(sorted(known))}
            raise EnqueueRefused(Phrase(message, values), field="queue")


def _has_queue(queue: str, broker: dramatiq.Broker) -> bool:
    # Some brokers count the queues of delayed messages among the others.
    queues, delayed = broker.get_declared_queues(), broker.get_declared_delay_queues()
    return queue in queues and queue not in delayed


def _read(options: Mapping[str, Any], broker: dramatiq.Broker) -> dict[str, Any]:
    """Return the options of a job, checked by what the middleware of this broker knows."""
    readers: dict[str, Reader] = {}
    if options:
        known = broker.actor_options - _NOT_FOR_JOBS
        readers = {name: _READERS.get(name, _as_it_is) for name in known}
        readers |= dict.fromkeys(_NAMING_ACTORS & known, partial(_actor_name, broker))
    if most := getattr(broker, "max_priority", None):  # RabbitMQ's, if its queues have priorities
        readers["broker_priority"] = whole(0, most)
    return read_options("This broker of Dramatiq", options, readers)


def _as_it_is(value: Any) -> Any:
    """Read an option of the project's own middleware."""
    return value


def _actor_name(broker: dramatiq.Broker, value: Any) -> str:
    if not isinstance(value, str) or value not in broker.actors:
        raise ValueError(Phrase(gettext_noop("the name of an actor")))
    return value


def _reach(broker: dramatiq.Broker) -> None:
    """Raise :class:`EnqueueNotSent` if the server does not answer, now that nothing is sent.

    An error of the sending itself would not tell: it may be the second attempt of a client that
    tries again, or come after the message arrived.
    """
    try:
        client = getattr(broker, "client", None)
        if client is not None:  # Redis
            client.ping()
        else:  # RabbitMQ, where reading this connects; others have nothing to ask
            getattr(broker, "connection", None)
    except Exception as error:
        raise EnqueueNotSent(one_line(error, with_type=True)) from error
