"""The queues of RQ: where they are, and how one takes many jobs at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from redis import Redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, WatchError
from redis.retry import Retry
from rq import Queue
from rq.queue import EnqueueData
from rq.serializers import resolve_serializer

from ..core.exceptions import EnqueueError, EnqueueNotSent, EnqueueRefused
from ..core.text import one_line
from ._admin_pages import admin_page

_SECONDS = 5.0
"""How long to wait for a connection or an answer, twice at most."""
_TRIES = 3
"""How often to look again which jobs of a batch there are, because that has just changed."""


class Queues(Protocol):
    """Which queues there are, and how to get at one."""

    def names(self) -> set[str] | None:
        """Return the queues there are; ``None`` if any name is one."""

    def lacks_workers(self) -> str:
        """Return what keeps other processes from running the jobs, if anything does."""

    def result_ttl(self, name: str) -> int | None:
        """Return for how many seconds a queue keeps results, if that is configured."""

    def page(self, name: str, job_id: str) -> str | None:
        """Return the address of the page about a job, if there is one."""

    def open(self, name: str) -> Queue:
        """Return a queue with a client that does not wait for long, without connecting."""


class QueuesAt:
    """Queues by any name, or by these ``names``, in one Redis."""

    def __init__(
        self,
        url: str,
        names: Sequence[str] | None,
        serializer: str | None,
        default_timeout: int | None,
    ) -> None:
        if isinstance(names, str):
            raise ValueError("queues must be a list of names.")
        self._names = None if names is None else set(names)
        self._serializer = resolve_serializer(serializer)
        self._default_timeout = default_timeout
        self._client = _impatient(Redis.from_url(url))

    def names(self) -> set[str] | None:
        return self._names

    def lacks_workers(self) -> str:
        return ""

    def result_ttl(self, name: str) -> int | None:
        return None

    def page(self, name: str, job_id: str) -> str | None:
        return None

    def open(self, name: str) -> Queue:
        return Queue(
            name,
            connection=self._client,
            default_timeout=self._default_timeout,
            serializer=self._serializer,
        )


class QueuesOfDjangoRq:
    """The queues of ``RQ_QUEUES``, as django-rq makes them."""

    def __init__(self) -> None:
        import django_rq.queues
        import django_rq.settings

        self._django_rq = django_rq
        if not self.names():
            raise ValueError("RQ_QUEUES is empty: add a queue, or use RQ by a url.")

    def names(self) -> set[str]:
        return set(self._django_rq.settings.QUEUES)

    def lacks_workers(self) -> str:
        queues = self._django_rq.settings.QUEUES.items()
        here = sorted(name for name, config in queues if not config.get("ASYNC", True))
        return f"queue {here[0]!r} of RQ_QUEUES (ASYNC is False)" if here else ""

    def result_ttl(self, name: str) -> int | None:
        ttl: int | None = self._django_rq.queues.get_result_ttl(name)
        return ttl

    def page(self, name: str, job_id: str) -> str | None:
        # Its pages number the queues, by name.
        names = sorted(self.names())
        if name not in names:
            return None
        return admin_page("django_rq_job_detail", names.index(name), job_id)

    def open(self, name: str) -> Queue:
        # Its default waits for the end of a transaction, which is nobody's here, or of a request.
        queue: Queue = self._django_rq.queues.get_queue(name, commit_mode="auto")
        _impatient(queue.connection)
        return queue


def _impatient(client: Redis) -> Redis:
    """Let a client give up soon: a thread waits for it, and there is another attempt later."""
    # A pool that is not the client's own belongs to a cache of the project: it stays as it is.
    if client.auto_close_connection_pool:
        arguments = client.get_connection_kwargs()
        for name in ("socket_timeout", "socket_connect_timeout"):
            if arguments.get(name) is None:
                arguments[name] = _SECONDS
        client.set_retry(Retry(NoBackoff(), 1))
    return client


# --- sending ------------------------------------------------------------------------------------


class _NoJob(EnqueueRefused):
    """RQ cannot make a job of a message, so nothing of its batch was sent."""


def enqueue(queue: Queue, jobs: Mapping[str, EnqueueData]) -> dict[str, Exception]:
    """Enqueue ``jobs``, by their ids; return the errors of those that failed."""
    try:
        if queue.is_async:
            _enqueue_together(queue, jobs)
        else:
            _run_here(queue, jobs)
    except _NoJob as error:
        if len(jobs) == 1:
            return dict.fromkeys(jobs, error)
        errors: dict[str, Exception] = {}
        for job_id, data in jobs.items():
            errors |= enqueue(queue, {job_id: data})
        return errors
    except Exception as error:
        return dict.fromkeys(jobs, error)
    return {}


def _enqueue_together(queue: Queue, jobs: Mapping[str, EnqueueData]) -> None:
    """Enqueue those of ``jobs`` that the queue does not remember, all or none.

    RQ itself refuses a repeated id only when jobs are enqueued one by one. Here Redis refuses the
    batch if anybody else adds one of the ids after they were looked for.
    """
    keys = {job_id: queue.job_class.key_for(job_id) for job_id in jobs}
    may_be_sent = False
    for _ in range(_TRIES):
        try:
            with queue.connection.pipeline() as pipe:
                pipe.watch(*keys.values())  # type: ignore[no-untyped-call]
                new = _new_jobs(pipe, jobs, keys)
                if not new:
                    return
                pipe.multi()
                _add_jobs(pipe, queue, new)
                may_be_sent = True
                pipe.execute()
                return
        except WatchError:
            # redis-py says so too when the connection was lost. What is there will tell.
            continue
        except (OutOfMemoryError, ReadOnlyError) as error:
            raise EnqueueNotSent(one_line(error)) from error
        except RedisError as error:
            if may_be_sent:
                raise
            raise EnqueueNotSent(one_line(error, with_type=True)) from error
    raise EnqueueError("Redis was changing all the time; nobody knows what it took.")


def _new_jobs(
    pipe: Pipeline, jobs: Mapping[str, EnqueueData], keys: Mapping[str, str]
) -> list[EnqueueData]:
    if not pipe.exists(*keys.values()):
        return list(jobs.values())
    return [data for job_id, data in jobs.items() if not pipe.exists(keys[job_id])]


def _add_jobs(pipe: Pipeline, queue: Queue, jobs: Sequence[EnqueueData]) -> None:
    try:
        queue.enqueue_many(jobs, pipeline=pipe)
    except RedisError:
        raise
    except Exception as error:
        reason = one_line(error, with_type=True)
        raise _NoJob(f"RQ cannot make a job of it: {reason}") from error


def _run_here(queue: Queue, jobs: Mapping[str, EnqueueData]) -> None:
    """Run ``jobs`` in this thread, as a queue with ``ASYNC = False`` does in a test."""
    for job_id, data in jobs.items():
        if not queue.job_class.exists(job_id, connection=queue.connection):
            arguments = data._asdict()
            del arguments["at_front"]
            queue.enqueue_job(queue.create_job(**arguments))
