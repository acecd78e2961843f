"""The rows of replicas: who is remembered, and for how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from django_dyncron.core.claims import Heartbeat
from django_dyncron.models import Replica
from django_dyncron.repositories.orm import DjangoCronJobRepository

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "since, is_last, remembered",
    [
        (NOON, False, ["me", "today"]),
        (NOON - timedelta(seconds=15), True, ["me", "today"]),
        # In between nobody looks: most signs of life are of this kind.
        (NOON - timedelta(seconds=15), False, ["me", "today", "yesterday"]),
    ],
)
async def test_crashed_processes_are_forgotten_by_whoever_starts_or_stops(
    since: datetime, is_last: bool, remembered: list[str]
) -> None:
    for replica_id, hours in {"today": 23, "yesterday": 25}.items():
        await Replica.objects.acreate(
            replica_id=replica_id,
            tick_interval_seconds=30,
            seen_at=NOON - timedelta(hours=hours),
        )
    beat = Heartbeat("me", NOON, timedelta(seconds=30), since=since, is_last=is_last)
    await DjangoCronJobRepository().beat(beat)
    rows = Replica.objects.order_by("replica_id").values_list("replica_id", flat=True)
    assert [row async for row in rows] == remembered
