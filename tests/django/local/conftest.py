"""Fixtures of the local enqueuer: a journal, a pool of two, and a shop without memories."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from django_dyncron.enqueuers import local
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from tests.django.local.pool import Journal
from tests.shop import tasks


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
async def enqueuer(journal: Journal) -> AsyncIterator[LocalTaskEnqueuer]:
    enqueuer = LocalTaskEnqueuer(max_workers=2)
    enqueuer.bind(journal)
    yield enqueuer
    tasks.gate.set()
    await enqueuer.drain(timedelta(seconds=10))
    await enqueuer.aclose()


@pytest.fixture(autouse=True)
def _clean_shop() -> None:
    tasks.calls.clear()
    tasks.runs.clear()
    tasks.gate.clear()
    tasks.arrived.clear()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_START_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(local, "_FINISH_PAUSES", (0.0, 0.001))
    monkeypatch.setattr(local, "_LAST_WORDS_SECONDS", 0.2)
