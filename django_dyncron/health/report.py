"""Health as JSON: for ``dyncron_status --json`` and for the view."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from ..core.text import iso_utc
from .values import MOST, Finding, Health, ReplicaHealth, ReplicaState


def as_json(health: Health, *, reveals: bool) -> dict[str, Any]:
    """Return what JSON can hold; moments are ISO 8601 in UTC, durations seconds.

    Unless it ``reveals``, nothing is in it but codes, counts and ages: no job, no host, no reason.
    """
    report: dict[str, Any] = {
        "status": "healthy" if health.is_healthy else "unhealthy",
        "problems": _findings(health.problems, reveals),
        "warnings": _findings(health.warnings, reveals),
    }
    if not health.is_readable:
        return report
    report |= _figures(health)
    if reveals:
        _reveal(report, health)
    return report


def _figures(health: Health) -> dict[str, Any]:
    paused_for = None
    if health.paused is not None and health.read_at is not None:
        paused_for = health.read_at - health.paused.since
    living = [replica.age for replica in health.replicas if replica.stopped_at is None]
    return {
        "checked_at": _iso(health.read_at),
        "max_age_seconds": _seconds(health.max_age),
        "counts_stop_at": MOST,
        "replicas": {
            **{str(state): len(health.replicas_in(state)) for state in ReplicaState},
            "last_sign_of_life_seconds": _seconds(min(living, default=None)),
        },
        "overdue": {
            "count": health.overdue.count,
            "oldest_seconds": _seconds(health.overdue.lateness),
        },
        "broken": {"count": health.broken.count},
        "failing": {"count": health.failing.count},
        "waiting_runs": {"count": health.waiting_runs},
        "undelivered_runs": {
            "count": health.undelivered.count,
            "oldest_seconds": _seconds(health.undelivered.lateness),
        },
        "paused": {
            "everything": health.paused is not None,
            "for_seconds": _seconds(paused_for),
        },
        "clock_skew_seconds": _seconds(health.skew),
    }


def _reveal(report: dict[str, Any], health: Health) -> None:
    report["next_due_at"] = _iso(health.next_due_at)
    report["replicas"]["list"] = [_replica(replica) for replica in health.replicas]
    report["overdue"] |= {
        "oldest_job_id": health.overdue.job_id or None,
        "oldest_slot": _iso(health.overdue.slot),
    }
    report["undelivered_runs"]["oldest_job_id"] = health.undelivered.job_id or None
    report["broken"]["job_ids"] = list(health.broken.job_ids)
    report["failing"]["job_ids"] = list(health.failing.job_ids)
    if health.paused is not None:
        report["paused"] |= {
            "since": _iso(health.paused.since),
            "reason": health.paused.reason,
            "by": health.paused.by,
        }


def _replica(replica: ReplicaHealth) -> dict[str, Any]:
    return {
        "replica_id": replica.replica_id,
        "state": str(replica.state),
        "age_seconds": _seconds(replica.age),
        "started_at": _iso(replica.started_at),
        "seen_at": _iso(replica.seen_at),
        "stopped_at": _iso(replica.stopped_at),
        "tick_interval_seconds": _seconds(replica.tick_interval),
        "version": replica.version,
        "tzdata_version": replica.tzdata_version,
    }


def _findings(findings: Iterable[Finding], reveals: bool) -> list[dict[str, str]]:
    if not reveals:
        return [{"code": finding.code} for finding in findings]
    return [
        {"code": finding.code, "text": finding.text, "remedy": finding.remedy}
        for finding in findings
    ]


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else iso_utc(moment)


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else round(span.total_seconds(), 3)
