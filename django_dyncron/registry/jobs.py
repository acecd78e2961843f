"""Declared jobs: cron jobs written down beside their function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeVar

from ..core.definitions import CronJobDefinition
from ..core.schedule import CronSchedule
from ..spelling import did_you_mean
from .arguments import bind_payload
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
    """A cron job as the code beside its function asks for it.

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
            "payload": dict(self.payload),
            "queue": self.queue,
            **self.policies,
        }

    def definition(self) -> CronJobDefinition:
        """Return the declaration as the scheduler's value, which knows nothing of pings."""
        values = self.values()
        values.pop("ping_url", None)
        return CronJobDefinition(**values)


_jobs: dict[str, tuple[DeclaredJob, object]] = {}


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
    not touched. Raises :class:`InvalidCronExpression`, :class:`EnqueueRefused` for a payload that
    does not fit, :class:`TypeError` for an unknown policy and :class:`ValueError` for a job id that
    is taken.
    """
    _refuse_unknown_policies(policies)

    def declare(target: _T) -> _T:
        task, context_arguments = _task_of(target)
        arguments = dict(payload or {})
        bind_payload(task.function, arguments, skip=context_arguments)
        job = DeclaredJob(
            job_id=job_id or task.name,
            task_name=task.name,
            cron_expression=expression,
            payload=MappingProxyType(arguments),
            queue=queue or task.queue,
            policies=MappingProxyType(dict(policies)),
        )
        _check_schedule(job)
        _remember(job, task.function)
        return target

    return declare


def declared_jobs() -> tuple[DeclaredJob, ...]:
    """Return every job declared by :func:`cron_job`, in order of declaration."""
    return tuple(job for job, _ in _jobs.values())


def _task_of(target: Any) -> tuple[RegisteredTask, int]:
    """Return what a job is declared for, and how many arguments the queue itself supplies.

    A function is registered unless it is already; a task object is its queue's own affair.
    """
    if isinstance(path := getattr(target, "module_path", None), str):
        return RegisteredTask(path, target.func, target.queue_name), int(target.takes_context)
    name = importable_name(target)
    registered = registered_tasks().get(name)
    if registered is None or registered.function is not target:
        background_task(target)
    return registered_tasks()[name], 0


def _refuse_unknown_policies(policies: Mapping[str, Any]) -> None:
    for name in policies:
        if name not in POLICIES:
            hint = did_you_mean(name, POLICIES)
            raise TypeError(f"cron_job() has no policy {name!r}. {hint}".rstrip())


def _check_schedule(job: DeclaredJob) -> None:
    zone = {"time_zone": job.policies["time_zone"]} if job.policies.get("time_zone") else {}
    rules = {key: job.policies[key] for key in ("dst_gap", "dst_fold") if key in job.policies}
    CronSchedule.parse(job.cron_expression, hash_id=job.job_id, **zone, **rules)


def _remember(job: DeclaredJob, function: TaskFunction) -> None:
    if job.job_id in _jobs:
        other, declared_for = _jobs[job.job_id]
        # A reloaded module brings a new function object under the old name.
        if declared_for is function or other.task_name != job.task_name:
            raise ValueError(
                f"The job id {job.job_id!r} of {job.task_name} is taken by {other.task_name}; "
                "give one of them another job_id."
            )
    _jobs[job.job_id] = (job, function)
