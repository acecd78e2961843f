"""Claiming and recording through the plain ORM, one row at a time: any database Django speaks.

The rows were locked when they were read; the comparison and the unique run row hold even where a
database has no row locks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, F, Q, TextField, Value, When
from django.db.models.functions import Coalesce, Greatest

from ..core.claims import ClaimOrder
from ..core.policies import RunStatus
from ..models import CronJob, CronRun
from ..models.due import PLANNED_FIELDS
from .dialects import (
    IN_HAND,
    RECORDED_FIELDS,
    BatchRow,
    Dialect,
    Move,
    Row,
    Won,
    new_run,
    notes_that_stand,
)
from .locking import free
from .reading import move_row, read_batch

_COPIED = ("job_id", "task_name", "payload", "queue", "enqueuer", "options", "delivery")
_WAS_BROKEN = Q(is_settled=True, planned_in_zone="")


class PortableDialect(Dialect):
    """Compare-and-swap by ``UPDATE … WHERE``, judged by the number of rows it changed."""

    def read(self, order: ClaimOrder) -> list[BatchRow]:
        return read_batch(self.connection.alias, order)

    def claim(self, moves: Sequence[Move], runs: Sequence[Row], order: ClaimOrder) -> Won:
        moved = {move[0].key for move in moves if self._swap(move_row(*move))}
        running = self._jobs().filter(pk__in=moved & {run["job"] for run in runs})
        jobs = {job["id"]: job for job in running.values("id", *_COPIED)}
        common = new_run(order)
        added = {
            run["id"] for run in runs if run["job"] in moved and self._add({**common, **run}, jobs)
        }
        return Won(moved, added)

    def record(self, runs: Sequence[Row], notes: Sequence[Row]) -> Collection[str]:
        written = [
            (run["job_id"], stands) for run in runs if (stands := self._write(run)) is not None
        ]
        return self.note(notes_that_stand(notes, written))

    def note(self, notes: Sequence[Row]) -> Collection[str]:
        jobs = self._jobs().filter(job_id__in=[note["job_id"] for note in notes])
        known = set(jobs.values_list("job_id", flat=True))
        unlocked = set(free(jobs.order_by("pk")).values_list("job_id", flat=True))
        for note in notes:
            if note["job_id"] in unlocked:
                self._jobs().filter(job_id=note["job_id"]).update(**_changes(note))
        return known - unlocked

    def _swap(self, row: Row) -> bool:
        seen = Q(pk=row["id"])
        for name, value in row.items():
            if name.startswith("seen_"):
                column = name.removeprefix("seen_")
                seen &= Q(**{f"{column}__isnull": True}) if value is None else Q(**{column: value})
        # The error first: it asks what the row was, and MySQL assigns from left to right.
        changed = (
            self._jobs()
            .filter(seen)
            .update(
                last_error=row["error"]
                or Case(
                    When(_WAS_BROKEN, then=Value("")),
                    default=F("last_error"),
                    output_field=TextField(),
                ),
                next_run_at=row["next_run_at"],
                is_settled=row["is_settled"],
                planned_in_zone=row["planned_in_zone"],
                planned_with_tzdata=row["planned_with_tzdata"],
                plan_from=None,
                **{f"planned_{name}": F(name) for name in PLANNED_FIELDS},
            )
        )
        return bool(changed)

    def _add(self, row: Row, jobs: dict[Any, Any]) -> bool:
        values = {name: value for name, value in row.items() if name != "job"}
        copied = {name: jobs[row["job"]][name] for name in _COPIED}
        try:
            with transaction.atomic(using=self.connection.alias):
                self._runs().create(**values, **copied)
        except IntegrityError:
            return False
        return True

    def _write(self, run: Row) -> bool | None:
        """Write a record; return whether it stands, or ``None`` if the run is not ours."""
        ours = self._runs().filter(pk=run["id"], attempts=run["attempts"])
        values = {name: run[name] for name in RECORDED_FIELDS}
        if run.get("is_given_back"):
            values["replica"] = ""
        in_hand = ours.filter(status__in=IN_HAND)
        if run["status"] != RunStatus.LOST:
            in_hand = in_hand.filter(started_at__isnull=True)
        if in_hand.update(**values):
            return True
        # A worker has begun it, even ended it, before what its queue answered is written.
        begun = ours.filter(started_at__isnull=False)
        return False if begun.update(task_id=run["task_id"] or F("task_id")) else None

    def _jobs(self) -> Any:
        return CronJob.objects.using(self.connection.alias)

    def _runs(self) -> Any:
        return CronRun.objects.using(self.connection.alias)


def _changes(note: Row) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    enqueued_at: datetime | None = note["enqueued_at"]
    if enqueued_at is not None:
        changes["last_run_at"] = Coalesce(
            Greatest(F("last_run_at"), Value(enqueued_at)), Value(enqueued_at)
        )
    if note["error"] is not None:
        changes["last_error"] = note["error"]
    return changes or {"last_run_at": F("last_run_at")}
