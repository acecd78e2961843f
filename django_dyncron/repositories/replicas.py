"""The replicas' signs of life, and the leases that come with them."""

from __future__ import annotations

from datetime import timedelta

from django.db import connections, transaction

from .. import __version__
from ..core.claims import Heartbeat
from ..core.tzdata import tzdata_version
from ..models import CronRun, Replica
from .dialects import IN_HAND, dialect_of
from .notes import JobNotes

_FORGOTTEN_AFTER = timedelta(days=1)


def beat(using: str, notes: JobNotes, heartbeat: Heartbeat) -> None:
    """Note that a replica lives, or stops, and extend the leases it keeps."""
    dialect = dialect_of(connections[using])
    with transaction.atomic(using=using, durable=True):
        dialect.begin()
        if heartbeat.is_well or heartbeat.is_last:
            _note(using, heartbeat)
        if heartbeat.keep:
            until = heartbeat.at + heartbeat.lease
            # Never shortened: a worker that began one may have until tomorrow.
            CronRun.objects.using(using).filter(
                pk__in=heartbeat.keep,
                replica=heartbeat.replica_id,
                status__in=IN_HAND,
                lease_until__lt=until,
            ).update(lease_until=until)
        notes.pay(dialect)


def _note(using: str, heartbeat: Heartbeat) -> None:
    row = Replica(
        replica_id=heartbeat.replica_id,
        started_at=heartbeat.since or heartbeat.at,
        seen_at=heartbeat.at,
        stopped_at=heartbeat.at if heartbeat.is_last else None,
        tick_interval_seconds=heartbeat.tick_interval.total_seconds(),
        version=__version__,
        tzdata_version=tzdata_version(),
    )
    names_target = connections[using].features.supports_update_conflicts_with_target
    replicas = Replica.objects.using(using)
    # A replica with a name of its own comes back under it, as another process.
    started = ["started_at"] if heartbeat.since is not None else []
    replicas.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["replica_id"] if names_target else None,
        update_fields=[
            *started,
            "seen_at",
            "stopped_at",
            "tick_interval_seconds",
            "version",
            "tzdata_version",
        ],
    )
    # One that stops cleans up, and one that starts: where processes crash, none ever stops.
    if heartbeat.is_last or heartbeat.since == heartbeat.at:
        replicas.filter(seen_at__lt=heartbeat.at - _FORGOTTEN_AFTER).delete()
