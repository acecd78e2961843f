"""The unique run row on PostgreSQL: what a cursor that is moved back runs again without it."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import connections

from django_dyncron import DynamicScheduler
from django_dyncron.repositories import postgres
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import RecordingEnqueuer
from tests.integration.cluster import Cluster

UNIQUE = "ON CONFLICT DO NOTHING"
UPDATED = "ON CONFLICT (id) DO UPDATE SET status = excluded.status"


def times_run(cluster: Cluster) -> Counter[int]:
    """Run three missed slots of ten jobs, move the cursors back, run again; count how often."""
    due = cluster.add_missed([f"job-{number}" for number in range(10)], slots=3)
    queue = RecordingEnqueuer()

    async def main() -> None:
        async with ThreadSensitiveContext():
            await _tick(cluster, queue)
            await sync_to_async(_move_back)(cluster)
            await _tick(cluster, queue)
            await sync_to_async(connections.close_all)()

    asyncio.run(main())
    assert set(queue.slots) == due
    return Counter(Counter(queue.slots).values())


async def _tick(cluster: Cluster, queue: RecordingEnqueuer) -> None:
    scheduler = DynamicScheduler(DjangoCronJobRepository(cluster.alias), queue)
    await scheduler.tick()  # plans the new jobs
    await scheduler.tick()


def _move_back(cluster: Cluster) -> None:
    first = cluster.runs.earliest("scheduled_for").scheduled_for
    assert cluster.jobs.update(next_run_at=first, is_settled=False) == 10


def test_a_cursor_moved_back_runs_nothing_again(postgres_cluster: Cluster) -> None:
    assert times_run(postgres_cluster) == {1: 30}


def test_a_run_row_that_is_updated_where_it_should_be_unique_is_caught(
    postgres_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert UNIQUE in postgres._CLAIM
    monkeypatch.setattr(postgres, "_CLAIM", postgres._CLAIM.replace(UNIQUE, UPDATED))
    assert times_run(postgres_cluster) == {2: 30}
