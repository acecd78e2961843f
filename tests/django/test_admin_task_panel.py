"""The panel beside a task: what it takes, a payload to begin with, or why it may not be run."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.test import Client

from django_dyncron import ITaskEnqueuer, background_task
from django_dyncron.core.exceptions import EnqueueRefused
from tests.django.admin_pages import JOBS, client_with

pytestmark = pytest.mark.django_db

HERE = __name__


@background_task(queue="reports")
def build_report(
    day: str, shops: list[int], limit: int | None, note, *, full: bool = False, **more: float
) -> None:
    """Count what was sold.

    Nobody reads on.
    """


class PickyEnqueuer(ITaskEnqueuer):
    """A queue system with tasks of its own, named for what it says of them."""

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        """Do nothing."""

    def check_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        if task_name == "boom":
            raise RuntimeError("boom")
        if task_name != "fine":
            raise EnqueueRefused(f"Not so: <{task_name}>.", field=task_name)


@pytest.fixture
def adder() -> Client:
    return client_with("add_cronjob")


def told(client: Client, **posted: str) -> str:
    """Ask for the panel; return it unescaped, its white space evened out."""
    answer = client.post(f"{JOBS}preview/task/", posted)
    assert answer.status_code == 200
    return unescape(" ".join(answer.content.decode().split()))


def test_a_task_tells_what_it_takes(adder: Client) -> None:
    fragment = told(adder, task_name=f"{HERE}.build_report")

    assert (
        "<code>build_report(day: str, shops: list[int], limit: int | None, note, *, "
        "full: bool = False, **more: float)</code>"
    ) in fragment
    skeleton = '{"day": "", "shops": [], "limit": 0, "note": null}'
    assert f"<code>{skeleton}</code>" in fragment
    assert f'value="{skeleton}" data-fill="payload" data-if-empty hidden>' in fragment
    assert "<p>Count what was sold.</p>" in fragment
    assert "Nobody reads on" not in fragment
    assert '<strong data-hint-for="queue">reports</strong>' in fragment


def test_a_task_that_takes_nothing_says_so(adder: Client) -> None:
    fragment = told(adder, task_name="tests.django.admin_pages.no_arguments")

    assert "<code>no_arguments()</code>" in fragment
    assert "It requires no payload." in fragment
    assert "Suggested queue" not in fragment


def test_a_task_that_may_not_be_run_is_refused_with_a_hint(adder: Client) -> None:
    fragment = told(adder, task_name=f"{HERE}.build_reprt")

    assert '<p class="dyncron-error">' in fragment
    assert "is not a registered task" in fragment
    assert f"{HERE}.build_report" in fragment


@pytest.mark.parametrize(
    "task_name, words",
    [
        ("payload", "<p>Not so: <payload>.</p>"),
        ("queue", "<p>The queue system has this task.</p>"),
        ("fine", "<p>It requires no payload.</p>"),
        ("task_name", '<p class="dyncron-error">Not so: <task_name>.</p>'),
        ("boom", "<p class=\"dyncron-error\">'boom' is not a registered task"),
    ],
)
def test_a_task_of_the_queue_system_is_asked_for_there(
    adder: Client, settings: Any, task_name: str, words: str
) -> None:
    settings.DYNCRON = {"ENQUEUERS": {"picky": f"{HERE}.PickyEnqueuer"}}

    assert words in told(adder, task_name=task_name, enqueuer="picky")
    assert "is not a registered task" in told(adder, task_name=task_name)
