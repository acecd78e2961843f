"""Which run the code is in, here and at the other end of a queue."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from django_dyncron.context import CurrentRun, current_run, running

SLOT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
RUN = CurrentRun(UUID(int=7), "morning", SLOT)


def test_there_is_no_run_outside_of_one() -> None:
    assert current_run() is None
    with running(RUN):
        assert current_run() == RUN
        with running(None):
            assert current_run() is None
        assert current_run() == RUN
    assert current_run() is None


def test_a_run_is_left_however_the_block_ends() -> None:
    with pytest.raises(ZeroDivisionError), running(RUN):
        raise ZeroDivisionError
    assert current_run() is None


def test_an_identity_survives_json() -> None:
    text = json.dumps(RUN.as_json())
    assert json.loads(text) == {
        "run_id": "00000000-0000-0000-0000-000000000007",
        "job_id": "morning",
        "scheduled_for": "2026-11-01T05:30:00+00:00",
    }
    assert CurrentRun.from_json(json.loads(text)) == RUN


def test_a_run_by_hand_has_no_slot() -> None:
    by_hand = CurrentRun(UUID(int=8), "morning", None)
    assert by_hand.as_json()["scheduled_for"] is None
    assert CurrentRun.from_json(by_hand.as_json()) == by_hand
