"""Where runs begin and end: as the dates of a job, and as what a source runs, cut to size."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from ..entries import Runs

_MINUTE = timedelta(minutes=1)


def run_once_at(moment: datetime) -> dict[str, Any]:
    """Return the columns of a job that runs at ``moment``, or within the minute that follows."""
    slot = moment.astimezone(UTC)
    if slot.second or slot.microsecond:
        slot = slot.replace(second=0, microsecond=0) + _MINUTE
    expression = f"{slot.minute} {slot.hour} {slot.day} {slot.month} *"
    return {"cron_expression": expression, "time_zone": "UTC", **between(slot, slot)}


def between(first: datetime, last: datetime) -> dict[str, datetime]:
    """Return the dates of a job whose first and last slots are these."""
    # The dates of a job must differ, and nothing else is due within the minute of a slot.
    return {"starts_at": first, "ends_at": last + _MINUTE - timedelta(seconds=1)}


def end_before(moment: datetime) -> datetime:
    """Return the date for a job to end at, if a slot at ``moment`` itself is not to run any more.

    The date that a job ends at is included.
    """
    is_slot = not (moment.second or moment.microsecond)
    return moment - timedelta(seconds=1) if is_slot else moment


def limited(
    runs: Runs,
    *,
    first: datetime | None = None,
    until: datetime | None = None,
    count: int | None = None,
) -> Runs:
    """Return ``runs``, but none before ``first`` or at or after ``until``, and ``count`` at most.

    They are counted from the instant that is asked about.
    """

    def some(after: datetime) -> Iterator[datetime]:
        if first is not None:
            after = max(after, first - timedelta(microseconds=1))
        for number, moment in enumerate(runs(after)):
            if number == count or (until is not None and moment >= until):
                return
            yield moment

    return some
