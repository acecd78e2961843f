"""Declared jobs: cron jobs written down beside their function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeVar

from ..core.definitions import CronJobDefinition
from ..spelling import did_you_mean
from .tasks import (
    RegisteredTask,
    TaskFunction,
    background_task,
    importable_name,
    registered_tasks,
)

_T = TypeVar("_T")

POLICIES = frozenset(
    each.name for each in fields(CronJobDefinition) if each.kw_only and each.name != "next_run_at"
) | {"is_active", "ping_url"}
"""What :func:`cron_job` takes besides the expression, the job id, the payload and the queue."""


@dataclass(frozen=True, slots=True)
class DeclaredJob:
    """A cron job as the code beside its function asks for it, right or wrong.

    ``policies`` holds only what was written down, so that a later change of a default is no edit.
    """

    job_id: str
    task_name: str
    cron_expression: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    queue: str = "default"
    policies: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """Return the columns this declaration sets, the job id included."""
        return {
            "job_id": self.job_id,
            "task_name": self.task_name,
            "cron_expression": self.cron_expression,
            "payload": _copied(self.payload),
            "queue": self.queue,
            **self.policies,
        }

    def definition(self) -> CronJobDefinition:
        """Return the declaration as the scheduler's value, which knows nothing of pings."""
        values = self.values()
        values.pop("ping_url", None)
        return CronJobDefinition(**values)


_jobs: dict[str, list[tuple[DeclaredJob, TaskFunction]]] = {}
"""By job id, as text: who declares it, for whom. More than one is a mistake, told by the checks."""


def cron_job(
    expression: str,
    *,
    job_id: str | None = None,
    payload: Mapping[str, Any] | None = None,
    queue: str | None = None,
    **policies: Any,
) -> Callable[[_T], _T]:
    """Declare a cron job beside its function, which becomes a background task too.

    ``job_id`` defaults to the function's dotted name, ``queue`` to that of a ``background_task``
    below. ``policies`` are the other fields of a job (``time_zone``, ``misfire_policy``,
    ``is_active`` …). A task object of ``django.tasks`` may stand in for the function. The table is
    not touched, and no value is judged: ``manage.py check`` and ``dyncron_sync`` tell what is
    wrong, so that a slip stops no web site. Raises :class:`TypeError` for an unknown keyword, and
    for a function that no worker could find by name.
    """

    def declare(target: _T) -> _T:
        task = _task_of(target)
        name = task.name if job_id is None else job_id
        _refuse_unknown(policies, f'{task.name}, cron job "{name}",')
        job = DeclaredJob(
            job_id=name,
            task_name=task.name,
            cron_expression=expression,
            payload={} if payload is None else _copied(payload),
            queue=task.queue if queue is None else queue,
            policies=MappingProxyType(dict(policies)),
        )
        _remember(job, task.function)
        return target

    return declare


def declared_jobs() -> tuple[DeclaredJob, ...]:
    """Return every job declared by :func:`cron_job`, in order of declaration.

    One that is declared twice is there twice.
    """
    return tuple(job for declarations in _jobs.values() for job, _ in declarations)


def _task_of(target: Any) -> RegisteredTask:
    """Return what a job is declared for.

    A function is registered unless it is already; a task object is its queue's own affair.
    """
    if isinstance(path := getattr(target, "module_path", None), str):
        return RegisteredTask(path, target.func, target.queue_name)
    name = importable_name(target)
    registered = registered_tasks().get(name)
    if registered is None or registered.function is not target:
        background_task(target)
    return registered_tasks()[name]


def _refuse_unknown(policies: Mapping[str, Any], declared: str) -> None:
    for name in policies:
        if name not in POLICIES:
            hint = did_you_mean(name, POLICIES | {"job_id", "payload", "queue"})
            words = f"cron_job() of {declared} has no argument {name!r}. {hint}"
            raise TypeError(words.rstrip())


def _copied(payload: Any) -> Any:
    """Return a payload that the caller does not change any more; anything else as it is."""
    return dict(payload) if isinstance(payload, Mapping) else payload


def _remember(job: DeclaredJob, function: TaskFunction) -> None:
    others = _jobs.setdefault(str(job.job_id), [])
    # A reloaded module brings a new function object under the old name.
    others[:] = [
        (other, declared_for)
        for other, declared_for in others
        if declared_for is function or other.task_name != job.task_name
    ]
    others.append((job, function))
