"""The guard of a task that must not start twice, told by hand what the store said."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Iterator
from contextvars import copy_context
from datetime import UTC, datetime
from uuid import UUID

import pytest

from django_dyncron import CurrentRun, RunNotStarted, runs_once
from django_dyncron.once import Guard, Start, guard
from django_dyncron.registry import bind_payload, tasks

RUN = CurrentRun(UUID(int=7), "morning", datetime(2026, 11, 1, 5, 30, tzinfo=UTC))

days: list[str] = []


@runs_once
def report(day: str, *, full: bool = False) -> str:
    """Build the report of a day."""
    days.append(day)
    return f"{day} {full}"


@runs_once
async def ping(day: str) -> str:
    days.append(day)
    return day


@runs_once
def weekly(first: str) -> str:
    """Do two guarded things as one run."""
    return f"{report(first)} {report('monday')}"


@pytest.fixture(autouse=True)
def _no_days() -> None:
    days.clear()


def within(start: Start) -> Iterator[Guard]:
    token = guard.set(Guard(RUN, start))
    yield guard.get()  # type: ignore[misc]
    guard.reset(token)


@pytest.fixture
def first() -> Iterator[Guard]:
    yield from within(Start.FIRST)


@pytest.fixture
def again() -> Iterator[Guard]:
    yield from within(Start.AGAIN)


@pytest.fixture
def untold() -> Iterator[Guard]:
    yield from within(Start.UNTOLD)


async def test_outside_of_a_run_it_is_just_a_call() -> None:
    assert report("today", full=True) == "today True"
    assert report("today") == "today False"
    assert await ping("today") == "today"
    assert days == ["today", "today", "today"]


async def test_the_first_start_is_let_in(first: Guard) -> None:
    assert report("today", full=True) == "today True"
    assert await ping("tomorrow") == "tomorrow"
    assert days == ["today", "tomorrow"]
    assert (first.is_refused, first.has_let_in) == (False, True)


async def test_a_second_start_does_nothing(again: Guard, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "django_dyncron"):
        assert report("today") is None
        assert await ping("today") is None
    assert days == []
    assert (again.is_refused, again.has_let_in) == (True, False)
    words = "Run 00000000-0000-0000-0000-000000000007 of morning has started before"
    assert [record.getMessage() for record in caplog.records] == [words, words]
    assert [vars(record)["action"] for record in caplog.records] == ["start_refused"] * 2
    assert {vars(record)["job_id"] for record in caplog.records} == {"morning"}


async def test_nothing_starts_when_nobody_knows(untold: Guard) -> None:
    with pytest.raises(RunNotStarted) as caught:
        report("today")
    assert str(caught.value) == (
        "Run 00000000-0000-0000-0000-000000000007 of morning was not started: the store of runs "
        "could not be asked whether it is the first time."
    )
    with pytest.raises(RunNotStarted):
        await ping("today")
    assert days == []
    assert (untold.is_refused, untold.has_let_in) == (False, False)


def test_guarded_functions_within_one_run_all_run(first: Guard) -> None:
    assert weekly("today") == "today False monday False"
    assert report("sunday") == "sunday False"
    assert days == ["today", "monday", "sunday"]


def test_guarded_functions_within_a_second_start_all_do_nothing(again: Guard) -> None:
    assert weekly("today") is None
    assert days == []


async def test_what_the_task_does_beside_is_guarded_too(first: Guard) -> None:
    assert await asyncio.gather(ping("a"), asyncio.to_thread(report, "b")) == ["a", "b False"]
    assert days == ["a", "b"]


def test_a_guard_is_of_its_own_context(again: Guard) -> None:
    context = copy_context()
    context.run(guard.set, Guard(RUN, Start.FIRST))
    assert context.run(report, "today") == "today False"
    assert report("today") is None


def test_an_error_goes_through(first: Guard) -> None:
    @runs_once
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert first.has_let_in


def test_it_stays_the_function_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (report.__name__, report.__doc__) == ("report", "Build the report of a day.")
    assert not inspect.iscoroutinefunction(report)
    assert inspect.iscoroutinefunction(ping)
    bind_payload(report, {"day": "today", "full": True})
    monkeypatch.setattr(tasks, "_tasks", {})
    tasks.background_task(report)
    assert list(tasks.registered_tasks()) == [f"{__name__}.report"]
