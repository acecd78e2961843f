"""Sending tasks through a Celery app: those of a queue together, and none twice by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from celery import Celery
from celery.exceptions import QueueNotFound
from django.db import close_old_connections
from kombu.exceptions import OperationalError

from ..core.exceptions import EnqueueError, EnqueueNotSent, EnqueueRefused
from ..core.text import one_line

_TRANSPORT_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "redis": {"socket_connect_timeout": 5, "socket_timeout": 10},
    "amqp": {"read_timeout": 5, "write_timeout": 5},
}
"""What keeps a hanging broker from holding us, in seconds; the project's own options come first."""
_MOST_COMMANDS = 10_000
"""More than the messages we are given at a time can need, so that all leave together."""


@dataclass(frozen=True, slots=True)
class Message:
    """A task to be sent: how, with which arguments and options of ``apply_async``."""

    send: Callable[..., Any]
    payload: dict[str, Any]
    options: dict[str, Any]
    ignores_result: bool | None
    """Whether the worker is to drop the result; ``None`` leaves that to its task."""

    @property
    def queue(self) -> str | None:
        """The name of the queue, unless Celery is to find it."""
        queue = self.options.get("queue")
        return None if queue is None else queue.name


_Answer = str | Exception
"""The id of a message that has arrived, or what is known of one that has not."""


def send_messages(app: Celery, messages: Sequence[Message]) -> Iterator[_Answer]:
    """Send ``messages`` and yield, in their order, the id of each or why there is none.

    Those of one queue leave together, so that what is wrong with a queue stops no other. Where the
    app is to run tasks eagerly, they are run.
    """
    if app.conf.task_always_eager:
        yield from (_published(message) for message in messages)
        close_old_connections()  # of this thread, which may have no other work for long
        return
    groups: dict[str | None, list[int]] = {}
    for index, message in enumerate(messages):
        groups.setdefault(message.queue, []).append(index)
    answers: dict[int, _Answer] = {}
    waiting = list(groups.values())
    try:
        while waiting:
            with _producer(app) as producer:
                is_sound = True
                while is_sound and waiting:
                    group = waiting.pop(0)
                    told, is_sound = _send_group([messages[index] for index in group], producer)
                    answers.update(zip(group, told, strict=True))
    except EnqueueNotSent as error:
        answers.update({index: error for group in waiting for index in group})
    yield from (answers[index] for index in range(len(messages)))


@contextmanager
def _producer(app: Celery) -> Iterator[Any]:
    """Open a connection of our own: one from a pool may be dead and would tell so too late."""
    connection = app.connection_for_write()
    ours = _TRANSPORT_OPTIONS.get(connection.transport.driver_type, {})
    connection.transport_options = {"max_retries": 0, **ours, **connection.transport_options}
    try:
        yield app.amqp.Producer(_open_channel(connection), auto_declare=False)
    finally:
        # What has been answered holds, however the goodbye goes.
        with suppress(Exception):
            connection.release()


def _open_channel(connection: Any) -> Any:
    """Connect to the first broker that answers; raise :class:`EnqueueNotSent` if none does."""
    others_left = len(connection.alt) - 1
    while True:
        try:
            return connection.default_channel
        except _errors_of(connection) as error:
            if others_left <= 0:
                raise EnqueueNotSent(f"No broker: {_words(error)}") from error
        others_left -= 1
        connection.maybe_switch_next()


def _send_group(messages: Sequence[Message], producer: Any) -> tuple[list[_Answer], bool]:
    """Return an answer for each of the messages, and whether the connection is still sound."""
    errors = _errors_of(producer.connection)
    answers: list[_Answer] = []
    leave_together = is_declared = False
    try:
        with _leaving_together(producer) as leave_together:
            for message in messages:
                answer = _published(message, producer, is_declared=is_declared)
                if isinstance(answer, errors):
                    if not leave_together:
                        answers.append(EnqueueError(_words(answer)))
                    raise EnqueueNotSent(f"Not sent after an error: {_words(answer)}") from answer
                answers.append(answer)
                is_declared = is_declared or isinstance(answer, str)
    except EnqueueNotSent as unsent:
        kept = [] if leave_together else answers
        return kept + [unsent] * (len(messages) - len(kept)), False
    except Exception as error:
        if not answers:  # it did not come so far
            return [EnqueueNotSent(_words(error))] * len(messages), False
        unknown = EnqueueError(_words(error))
        return [unknown if isinstance(answer, str) else answer for answer in answers], False
    return answers, True


@contextmanager
def _leaving_together(producer: Any) -> Iterator[bool]:
    """Tell whether what is published within the block leaves at its end, all or nothing.

    That is so in a batch of kombu's, which it has since 5.7 for some brokers, and in a transaction
    of AMQP's, which costs much less than to have each message confirmed.
    """
    connection = producer.connection
    if getattr(producer, "supports_batch_publish", False):
        with producer.batch(max_size=_MOST_COMMANDS):
            yield True
    elif connection.transport.driver_type == "amqp" and not _is_confirming(connection):
        producer.channel.tx_select()
        yield True
        producer.channel.tx_commit()
    else:
        yield False


def _is_confirming(connection: Any) -> bool:
    return bool(connection.transport_options.get("confirm_publish"))


def _published(message: Message, producer: Any = None, *, is_declared: bool = False) -> _Answer:
    """Have Celery send the task or, in eager mode, run it."""
    options = message.options
    if producer is not None:
        # Nobody here waits for the result, so Celery need not listen for it; the worker goes by
        # the header. And an error is ours to judge: to send again would be to send twice.
        headers = {**options.get("headers", {}), "ignore_result": message.ignores_result}
        options = {**options, "headers": headers, "ignore_result": True, "retry": False}
        options["producer"] = producer
        if is_declared and message.queue is not None:
            options["declare"] = []
    try:
        message.send(kwargs=message.payload, **options)
    except QueueNotFound as error:  # that the settings route the task to
        return EnqueueRefused(one_line(error), field="queue")
    except Exception as error:
        return error
    return str(options["task_id"])


def _errors_of(connection: Any) -> tuple[type[Exception], ...]:
    errors = (*connection.connection_errors, *connection.channel_errors, OperationalError)
    # Where kombu calls this one an error of the connection, it is for reasons of its own.
    return tuple(error for error in errors if error is not KeyError)


def _words(error: Exception) -> str:
    cause = error.__cause__ or error  # Celery's own error around it may be blank
    return one_line(cause, with_type=True)
